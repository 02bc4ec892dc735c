"""The world as Gymnasium environments: one (`single`), many at once (`vector`), and their pictures (`render`)."""
