package headless
