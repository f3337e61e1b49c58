#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# pictures.py DIRECTORY [WIDTH HEIGHT]
#
# Writes one picture in every form that kin-extract-picture reads, and forms of it
# that are cut off or too large.  Pillow and the libraries behind it write them;
# interlaced PNG, which it does not write, is done here.
import os
import random
import struct
import sys
import zlib

from PIL import Image, ImageDraw, ImageFilter


def paint(width, height, seed):
    r = random.Random(seed)
    im = Image.new('RGB', (width, height), (40, 80, 120))
    d = ImageDraw.Draw(im)
    for _ in range(60):
        x, y = r.randrange(width), r.randrange(height)
        a, b = r.randrange(width // 30, width // 5), r.randrange(height // 30, height // 5)
        d.ellipse((x - a, y - b, x + a, y + b), fill=tuple(r.randrange(256) for _ in 'rgb'))
    return im.filter(ImageFilter.GaussianBlur(1))


def chunk(name, data):
    return (struct.pack('>I', len(data)) + name + data +
            struct.pack('>I', zlib.crc32(name + data)))


def adam7(im):
    width, height = im.size
    raw = bytearray()
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4),
                           (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for y in range(y0, height, dy):
            raw.append(0)
            for x in range(x0, width, dx):
                raw += bytes(im.getpixel((x, y)))
    return (b'\x89PNG\r\n\x1a\n' +
            chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 1)) +
            chunk(b'IDAT', zlib.compress(bytes(raw))) + chunk(b'IEND', b''))


# How a picture has to be stored that EXIF turns back.
STORED = {2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM,
          5: Image.TRANSPOSE, 6: Image.ROTATE_90, 7: Image.TRANSVERSE, 8: Image.ROTATE_270}


def write(where, name, data):
    with open(os.path.join(where, name), 'wb') as file:
        file.write(data)


def read(where, name):
    with open(os.path.join(where, name), 'rb') as file:
        return file.read()


def main():
    where = sys.argv[1]
    width, height = map(int, sys.argv[2:] or (480, 360))
    im, other = paint(width, height, 4), paint(width, height, 5)

    def save(name, picture=im, **how):
        picture.save(os.path.join(where, name), **how)

    save('a.png')
    save('grey.png', im.convert('L'))
    save('palette.png', im.quantize(256))
    save('16bit.png', im.convert('L').convert('I').point(lambda v: v * 257))
    write(where, 'interlaced.png', adam7(im))
    save('a.jpg', quality=90)
    save('progressive.jpg', quality=90, progressive=True)
    save('grey.jpg', im.convert('L'))
    save('cmyk.jpg', im.convert('CMYK'), quality=90)
    save('poor.jpg', quality=20)
    save('a.gif', im.quantize(256))
    save('interlaced.gif', im.quantize(256), interlace=1)
    save('animated.gif', im, save_all=True, append_images=[other])
    save('a.webp', quality=80)
    save('lossless.webp', lossless=True)
    save('animated.webp', im, save_all=True, append_images=[other], quality=80)
    for n, how in STORED.items():
        exif = Image.Exif()
        exif[0x112] = n
        for kind in 'jpg', 'png', 'webp':
            save(f'turned-{n}.{kind}', im.transpose(how), exif=exif, quality=92)

    # Transparent where the other one is bright, and black there.
    mask = other.convert('L').point(lambda v: 0 if v > 128 else 255)
    white = Image.composite(im, Image.new('RGB', im.size, 'white'), mask)
    clear = Image.composite(im, Image.new('RGB', im.size, 'black'), mask)
    save('white.png', white)
    clear.putalpha(mask)
    save('clear.png', clear)
    save('clear.webp', clear, lossless=True)
    indexed = clear.convert('RGB').quantize(255)
    indexed.putpalette((indexed.getpalette() + [0] * 768)[:765] + [0, 0, 0])
    indexed.paste(255, mask=mask.point(lambda v: 255 - v))
    save('clear.gif', indexed, transparency=255)
    save('clear-palette.png', indexed, transparency=255)

    save('large.jpg', im.resize((2400, 1800), Image.BICUBIC), quality=90)
    save('large.png', im.resize((1600, 1200), Image.BICUBIC))
    save('large.webp', im.resize((1600, 1200), Image.BICUBIC))
    save('small.png', im.resize((128, 128), Image.BICUBIC))
    save('icon.png', im.resize((64, 64), Image.BICUBIC))
    save('plain.png', Image.new('RGB', (300, 200), 'blue'))
    save('stripes.png', Image.linear_gradient('L').resize((300, 200)).point(
        lambda v: 255 * (v // 32 % 2)))
    save('other.png', other)

    for name in 'a.jpg', 'a.png', 'a.gif', 'a.webp':
        data = read(where, name)
        write(where, 'nearly-' + name, data[:len(data) * 96 // 100])
        write(where, 'half-' + name, data[:len(data) // 2])
    data = read(where, 'progressive.jpg')
    write(where, 'half-progressive.jpg', data[:len(data) // 2])
    write(where, 'huge.png', b'\x89PNG\r\n\x1a\n' + chunk(
        b'IHDR', struct.pack('>IIBBBBB', 20000, 10001, 8, 2, 0, 0, 0)) + chunk(b'IDAT', b''))
    write(where, 'damaged.jpg', b'\xff\xd8\xff\xe0' + bytes(400))


main()
