"""Trained policies for programs without this package: as an ONNX graph, or as a file that needs NumPy alone."""
