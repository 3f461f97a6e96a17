project = "Training Llama 2"
extensions = ["myst_parser"]
html_js_files = [("https://example.org/trainmem/trainmem-calculator.js", {"type": "module"})]
