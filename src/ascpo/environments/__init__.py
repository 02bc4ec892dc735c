"""The suites as Gymnasium environments: single (`single`), vectorised (`vector`), and rendered (`render`)."""
