"""The report as files: CSV, LaTeX, SVG, PDF, JUnit XML, Markdown."""
