"""A picture of a page as a reader sees it: picture.py PAGE[#SCHEDULE:OP] FILE.png WIDTH HEIGHT [Y], from Y pixels below its top."""
import sys

import browser


def main(page, picture, width, height, y=0):
    path = browser.find()
    if path is None:
        sys.exit('picture.py: no Chromium')
    window = browser.Browser(path, int(width), int(height))
    try:
        window.open(page)
        window.run(f'scrollTo(0, {y})')
        window.settle()
        window.settle()
        window.picture(picture)
    finally:
        window.close()


main(*sys.argv[1:])
