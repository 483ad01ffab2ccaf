"""Pure. The report as one HTML file: no request, no dependency, readable without JavaScript. One file per section."""
