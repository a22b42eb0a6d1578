"""Robots and motions to look at: a page in the browser, pages and films of their own, glTF."""
