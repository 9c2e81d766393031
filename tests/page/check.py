"""Checks of pages in a browser, for tests/page.sh: check.py FOLDER, with the pages that it made there.

Each page is asked what a reader asks it: the pointer moves, the wheel turns, keys go down, and what is then shown is
compared with the data of the page."""
import json
import re
import sys

import browser

checks = failures = 0


def check(what, good, said=''):
    global checks, failures
    checks += 1
    if not good:
        failures += 1
        print(f'FAIL: {what}: {said}' if said != '' else f'FAIL: {what}')


def equal(what, got, wanted):
    check(what, got == wanted, f'{got!r} instead of {wanted!r}')


def ms(ns):
    return f'{ns / 1e6:.6f}'.rstrip('0').rstrip('.') + ' ms'


class Page:
    """A page that is open, with its data and the ops of its timelines."""

    def __init__(self, window, path, fragment=''):
        self.window = window
        window.said.clear()
        window.asked.clear()
        window.open(path + fragment)
        self.data = json.loads(window.run('document.getElementById("data").textContent'))
        self.names = [schedule['name'] for schedule in (self.data['result'] or {'schedules': []})['schedules']]

    def ops(self, run):
        """[(rank, name, start, end, cause)], ns."""
        ops = []
        for rank, lane in enumerate(self.data['timelines'][run]['ranks']):
            time = 0
            for name, gap, took, cause in zip(lane['ops'].split(), lane['gap'], lane['took'], lane['cause']):
                ops.append((rank, name, time + gap, time + gap + took, cause))
                time += gap + took
        return ops

    def panel(self, n):
        """Of the panel that stands n-th: its place in the window and what it shows."""
        self.window.run(f'document.querySelectorAll(".panel canvas:not(.over)")[{n}].scrollIntoView({{block: "center"}})')
        self.window.settle()
        return self.window.run(f'''(() => {{
            const canvas = document.querySelectorAll('.panel canvas:not(.over)')[{n}], box = canvas.getBoundingClientRect();
            const place = {{x: box.left, y: box.top, width: box.width, height: box.height}};
            for (const key in canvas.dataset)
                place[key] = Number(canvas.dataset[key]);
            return place;
        }})()''')

    def place(self, panel, rank, time):
        """Where a moment of a rank is in the window."""
        plot = panel['width'] - panel['left'] - panel['right']
        return (panel['x'] + panel['left'] + plot * (time - panel['from']) / (panel['to'] - panel['from']),
                panel['y'] + panel['lane'] * rank + panel['body'] / 2)

    def tip(self):
        self.window.settle()
        return self.window.run('(tip => tip.hidden ? null : tip.innerText)(document.getElementById("tip"))')

    def quiet(self, what):
        said = [text for text in self.window.said if 'willReadFrequently' not in text]
        check(f'{what}: the console says nothing', said == [], said)
        check(f'{what}: nothing is fetched', all(url.startswith(('file:', 'data:', 'about:')) for url in self.window.asked),
              self.window.asked)


def check_table(page):
    run, figures = page.window.run, page.data['result']['schedules']
    names = 'Array.from(document.querySelectorAll("#schedules tbody tr")).map(row => row.cells[0].innerText.replace(" \\u2605", ""))'
    title = 'document.querySelectorAll("#schedules thead tr:last-child button")'
    equal('rows', run(names), page.names)
    run(title + '[1].click()')
    wanted = sorted(page.names, key=lambda name: figures[page.names.index(name)]['makespan_ms'])
    equal('sorted by makespan', run(names), wanted)
    run(title + '[1].click()')
    equal('and the other way round', run(names), wanted[::-1])
    run(title + '[0].click()')
    equal('sorted by name', run(names), sorted(page.names))
    text = run('document.querySelector("#schedules tbody").innerText')
    for figure in figures:
        check(f'makespan of {figure["name"]}', f'{figure["makespan_ms"]:.1f}' in text, text)


def check_hover(page, n, run, every):
    panel = page.panel(n)
    ops = page.ops(run)
    for rank, name, start, end, cause in ops[::every]:
        x, y = page.place(panel, rank, (start + end) / 2)
        page.window.mouse('mouseMoved', x, y)
        tip = page.tip()
        said = name if not name.startswith('(') else 'pair ' + name[1:name.index(')')].replace(';', ' + ')
        check(f'tip of {page.names[run]}: {name}', tip is not None and f'{page.names[run]}: {said}\n' in tip and
              f'{ms(start)} to {ms(end)}, takes {ms(end - start)}' in tip and re.search(rf'rank\s+{rank}\b', tip), tip)
        if cause >= 0:
            other = ops[cause]
            words = other[1].split(')')[0].strip('(').replace(';', ' + ')
            where = 'before it on its rank' if other[0] == rank else f'of rank {other[0]}'
            check(f'what {name} waited for', tip is not None and f'{words} {where}' in tip, tip)
    page.window.mouse('mouseMoved', 5, 5)
    equal('no tip beside the timeline', page.tip(), None)


def check_zoom(page, n):
    whole = page.panel(n)
    end = max(op[3] for run in range(len(page.names)) for op in page.ops(run))
    equal('shows the whole step', (whole['from'], whole['to']), (0, end))
    x, y = page.place(whole, 0, 0.3 * end)
    for _ in range(6):
        page.window.mouse('mouseWheel', x, y, deltaX=0, deltaY=-150, modifiers=2)
        page.window.settle()
    near = page.panel(n)
    span = near['to'] - near['from']
    check('the wheel zooms', span < 0.06 * end, near)
    share = (0.3 * end - near['from']) / span
    check('about the pointer', abs(share - 0.3) < 0.01, near)
    x, y = page.place(near, 0, near['from'] + 0.5 * span)
    page.window.mouse('mousePressed', x, y, button='left', clickCount=1)
    page.window.mouse('mouseMoved', x - 50, y, button='left', buttons=1)
    page.window.mouse('mouseMoved', x - 100, y, button='left', buttons=1)
    page.window.mouse('mouseReleased', x - 100, y, button='left', clickCount=1)
    page.window.settle()
    moved = page.panel(n)
    plot = near['width'] - near['left'] - near['right']
    check('dragging moves', abs(moved['from'] - near['from'] - 100 * span / plot) < 0.01 * span, (near, moved))
    check('and pins nothing', page.window.run('location.hash') == '')
    page.window.mouse('mouseWheel', x, y, deltaX=40, deltaY=0)
    page.window.settle()
    check('a wheel to the side moves', page.panel(n)['from'] > moved['from'])
    before = page.window.run('scrollY')
    page.window.mouse('mouseWheel', x, y, deltaX=0, deltaY=120)
    page.window.settle()
    check('a plain wheel scrolls the page', page.window.run('scrollY') != before or before > 0)
    page.window.run('document.querySelectorAll(".zoom button")[2].click()')
    page.window.settle()
    equal('all is shown again', page.panel(n)['to'], end)
    page.window.run('document.querySelectorAll(".panel canvas:not(.over)")[%d].focus({preventScroll: true})' % n)
    page.window.key('+', '+')
    check('the keyboard zooms', abs(page.panel(n)['to'] - page.panel(n)['from'] - end / 1.5) < 2)
    page.window.key('0', '0')


def check_pin(page, n, run):
    panel, ops = page.panel(n), page.ops(run)
    at = len(ops) // 2
    rank, name, start, end, _ = ops[at]
    page.window.click(*page.place(panel, rank, (start + end) / 2))
    chain = [at]
    while ops[chain[-1]][4] >= 0:
        chain.append(ops[chain[-1]][4])
    equal('chain of a click', page.panel(n)['chain'], len(chain))
    check('address of a click', name in page.window.run('decodeURIComponent(location.hash)'), page.window.run('location.hash'))
    page.window.run('document.querySelectorAll(".panel canvas:not(.over)")[%d].focus({preventScroll: true})' % n)
    page.window.key('Enter')
    equal('Enter goes to what it waited for', page.panel(n)['chain'], len(chain) - 1)
    page.window.key('Escape')
    equal('Escape lets go', (page.panel(n)['chain'], page.window.run('location.hash')), (0, ''))


def check_colours(page, n, run, dark):
    """The middle of boxes has the colour of their kind."""
    panel, wrong = page.panel(n), []
    looks = page.data['looks']
    for rank, name, start, end, _ in page.ops(run)[::7]:
        if name.startswith('('):
            continue
        x, y = page.place(panel, rank, start + 0.3 * (end - start))
        pixel = page.window.run(f'''(canvas => Array.from(canvas.getContext('2d').getImageData({x - panel["x"]},
            {panel["lane"] * rank + 3}, 1, 1).data))(document.querySelectorAll('.panel canvas:not(.over)')[{n}])''')
        colours = [[int(colour[i:i + 2], 16) for i in (1, 3, 5)] for colour in looks[re.search('[FIWB]', name)[0]]['colours']]
        if not dark and not any(max(abs(a - b) for a, b in zip(pixel, colour)) < 40 for colour in colours):
            wrong.append((name, pixel))
    check(f'colours of {page.names[run]}', wrong == [], wrong[:3])


def check_asides(page, n, run):
    """Copies and collectives have their colours in the two lanes below their rank."""
    panel, wrong, seen = page.panel(n), [], 0
    strip = (panel['lane'] - panel['body']) / 2
    for rank, lane in enumerate(page.data['timelines'][run]['ranks']):
        asides = lane['asides']
        for which, start, end in zip(asides[::3], asides[1::3], asides[2::3]):
            x, _ = page.place(panel, rank, (start + end) / 2)
            y = panel['lane'] * rank + panel['body'] + which % 2 * strip + 1
            pixel = page.window.run(f'''(canvas => Array.from(canvas.getContext('2d').getImageData({x - panel["x"]},
                {y}, 1, 1).data))(document.querySelectorAll('.panel canvas:not(.over)')[{n}])''')
            colour = page.data['asides'][min(which, 2)]
            seen += 1
            if max(abs(a - int(colour[i:i + 2], 16)) for a, i in zip(pixel, (1, 3, 5))) > 40:
                wrong.append((rank, which, start, pixel))
    check(f'copies and collectives of {page.names[run]}', seen > 0 and wrong == [], wrong[:3] or seen)


def check_small(window, folder):
    page = Page(window, folder + '/small.html')
    equal('title', window.run('document.title'), 'pipesim: PP 8, 20 micro-batches')
    check_table(page)
    for run in range(3):
        check_hover(page, run, run, 37)
        check_colours(page, run, run, False)
        figure = page.data['result']['schedules'][run]
        equal('critical path', page.panel(run)['path'], figure['critical_path_ops'])
    check_zoom(page, 1)
    check_pin(page, 1, 1)
    window.run('document.querySelector("#schedules tbody input").click()')
    window.settle()
    equal('a schedule may be left out', window.run('document.querySelectorAll(".panel").length'), 2)
    window.run('document.getElementById("critical").click()')
    for memory in ('held', 'off', 'bytes'):
        window.run(f'''(select => {{ select.value = '{memory}'; select.dispatchEvent(new Event('change')); }})(
            document.getElementById('memory'))''')
        window.settle()
        height = page.panel(0)['height']
        check(f'memory {memory}', (height < 230) == (memory == 'off'), height)
    page.quiet('small page')
    page = Page(window, folder + '/small.html', '#zb-v:11F6')
    check('an address shows its op', 'zb-v: 11F6' in (page.tip() or ''), page.tip())
    page.quiet('address')


def check_messages(window, folder):
    page = Page(window, folder + '/messages.html')
    check_hover(page, 0, 0, 3)
    messages, ops = page.data['timelines'][0]['messages'], page.ops(0)
    panel = page.panel(0)
    rank, name, start, end, cause = next(op for op in ops if op[4] < -1)
    page.window.mouse('mouseMoved', *page.place(panel, rank, (start + end) / 2))
    tip, i = page.tip(), -2 - cause
    check('a message that an op waited for', tip is not None and
          f'{ops[messages["from"][i]][1]} from rank' in tip and f'moved from {ms(messages["start"][i])}' in tip, tip)
    page.quiet('messages')


def check_speeds(window, folder):
    """Colours by how fast ops ran, once that is asked for."""
    page = Page(window, folder + '/speeds.html')
    lanes, speeds, wrong = page.data['timelines'][0]['ranks'], page.data['speeds'], []
    window.run('document.getElementById("speed").click()')
    window.settle()
    panel = page.panel(0)
    seen = set()
    for i, (rank, name, start, end, _) in enumerate(page.ops(0)):
        sustained = lanes[rank]['sustained'][i - sum(len(lane['took']) for lane in lanes[:rank])]
        excess = 100 * (end - start - sustained) / sustained
        level = min(max(speeds['sustained'] + round(excess / speeds['percent']), 0), len(speeds['light']) - 1)
        seen.add(level)
        x, y = page.place(panel, rank, start + 0.2 * (end - start))
        pixel = window.run(f'''(canvas => Array.from(canvas.getContext('2d').getImageData({x - panel["x"]},
            {panel["lane"] * rank + 3}, 1, 1).data))(document.querySelector('.panel canvas:not(.over)'))''')
        colour = [int(speeds['light'][level][at:at + 2], 16) for at in (1, 3, 5)]
        if max(abs(a - b) for a, b in zip(pixel, colour)) > 30:
            wrong.append((name, pixel, colour))
        if i == 20:
            window.mouse('mouseMoved', x, y)
            words = f'{ms(sustained)}, took {abs(excess):.1f} % {"less" if excess < 0 else "more"}'
            check('the tip says how fast an op ran', words in (page.tip() or ''), (page.tip(), words))
    check('colours of speeds', wrong == [] and len(seen) >= 4, (wrong[:3], seen))
    check('the scale of speeds', '16 % less' in window.run('document.getElementById("speeds").innerText'))
    page.quiet('speeds')


def check_large(window, folder):
    page = Page(window, folder + '/large.html')
    n = sum(len(page.ops(run)) for run in range(3))
    check('large page has over 10,000 ops', n > 10000, n)
    for run in range(3):
        check_hover(page, run, run, 997)
        check_colours(page, run, run, False) if run == 0 else None
    check_zoom(page, 0)
    page.quiet('large page')


def check_other(window, folder):
    page = Page(window, folder + '/left-out.html')
    check('what is left out is told', 'are left out of the page' in window.run('document.getElementById("left-out").innerText'))
    equal('and the rest is there', window.run('document.querySelectorAll(".panel").length'), 1)
    page.quiet('left out')
    page = Page(window, folder + '/beside.html', '#vocab-2:0S1')
    equal('copies and passes leave timelines', window.run('document.querySelectorAll(".panel").length'), 2)
    check('a pass has its name', 'S of micro-batch 1' in (page.tip() or ''), page.tip())
    page.quiet('copies and passes')
    page = Page(window, folder + '/beside.html')
    for run in range(2):
        check_asides(page, run, run)
    legend = 'document.querySelector(".legend").innerText'
    said = window.run(legend).split('\n')
    check('passes are in the legend', any('backward for weights' in words for words in said), said)
    page = Page(window, folder + '/copies.html')
    said = window.run(legend).split('\n')
    equal('the legend has what is drawn', said, ['forward', 'full backward', 'copies to the host', 'copies back'])
    page.quiet('copies')
    page = Page(window, folder + '/all.html')
    rows = window.run('Array.from(document.querySelectorAll("#schedules tbody tr")).map(row => row.className)')
    check('refusals are rows', 'refused' in rows and 'best' in rows, rows)
    equal('of many schedules three are shown', window.run('document.querySelectorAll(".panel").length'), 3)
    window.run('document.querySelectorAll("#schedules thead tr:last-child button")[1].click()')
    equal('refusals are sorted last', window.run('document.querySelector("#schedules tbody tr:last-child").className'), 'refused')
    check('samples', 'Steps drawn at random' in window.run('document.body.innerText'))
    page.quiet('all schedules')
    page = Page(window, folder + '/diagnosis.html')
    with open(folder + '/diagnosis.txt', encoding='utf-8') as file:
        lines = [line for line in file.read().splitlines() if '─' not in line and '---' not in line]
    shown = window.run('document.getElementById("about").textContent').splitlines()
    equal('words of a diagnosis', [line for line in shown if '---' not in line], lines)
    check_answers(window, folder)
    page = Page(window, folder + '/names.html')
    equal('no text is read as HTML', window.run('document.querySelectorAll("b[onclick], main script, img").length'), 0)
    check('but shown as it is', page.names[0] in window.run('document.getElementById("schedules").innerText'))
    page.quiet('names')


def check_answers(window, folder):
    """Pages of other commands begin with the answer, and their tables can be sorted."""
    first = 'document.querySelector("#answer p").innerText'
    rows = 'document.querySelectorAll("#answer-table tbody tr").length'
    for name, words, tables, panels in (('sweep', 'is best at', True, 0), ('optimized', 'Nothing was found that beats', False, 2),
                                        ('diff', 'longer than A', True, 2), ('plan', 'Megatron-LM: ', True, 1),
                                        ('diagnosis', 'First: ', True, 2)):
        page = Page(window, folder + f'/{name}.html')
        check(f'{name}: the answer comes first', words in window.run(first), window.run(first))
        wanted = len(page.data['answer']['table']['rows']) if tables else 0
        equal(f'{name}: rows of the answer', window.run(rows), wanted)
        equal(f'{name}: timelines', window.run('document.querySelectorAll(".panel").length'), panels)
        for width in (390, 2560):
            window.call('Emulation.setDeviceMetricsOverride', width=width, height=1000, deviceScaleFactor=1, mobile=False)
            window.settle()
            check(f'{name}: fits in {width} pixels', window.run('document.documentElement.scrollWidth') <= width)
        window.call('Emulation.setDeviceMetricsOverride', width=1400, height=1000, deviceScaleFactor=1, mobile=False)
        page.quiet(name)
    page = Page(window, folder + '/sweep.html')
    title = 'document.querySelectorAll("#answer-table thead tr:last-child button")[3]'
    steps = 'Array.from(document.querySelectorAll("#answer-table tbody tr")).map(row => parseFloat(row.cells[3].innerText))'
    window.run(title + '.click()')
    equal('a sweep is sorted by its step', window.run(steps), sorted(window.run(steps)))
    equal('who wins where', window.run('document.querySelectorAll("#winners td b").length'), 6)
    page = Page(window, folder + '/small.html')
    window.run('''(async () => {
        const list = new DataTransfer(), text = document.documentElement.outerHTML;
        list.items.add(new File([text], 'other.html'));
        document.getElementById('other').files = list.files;
        document.getElementById('other').dispatchEvent(new Event('change'));
        for (let i = 0; i < 100 && document.getElementById('beside') === null; i++)
            await new Promise(resolve => setTimeout(resolve, 20));
    })()''')
    for _ in range(50):
        if window.run('document.getElementById("beside") !== null'):
            break
        window.settle()
    cells = 'Array.from(document.querySelectorAll("#beside tbody tr")).map(row => row.cells[3].innerText)'
    equal('beside itself a page is the same', window.run(cells), ['+0.0 %'] * len(page.names))


def main(folder):
    window = browser.Browser(browser.find(), 1400, 1000)
    try:
        light = window.run('1')
        check_small(window, folder)
        check_messages(window, folder)
        check_speeds(window, folder)
        check_large(window, folder)
        check_other(window, folder)
        light = window.run('getComputedStyle(document.body).backgroundColor')
    finally:
        window.close()
    window = browser.Browser(browser.find(), 1400, 1000, dark=True)
    try:
        page = Page(window, folder + '/small.html')
        check('dark where the reader wants it dark', window.run('getComputedStyle(document.body).backgroundColor') != light)
        check_hover(page, 2, 2, 101)
        window.print(folder + '/small.pdf')
        page.quiet('dark')
        if len(sys.argv) > 2:
            window.picture(sys.argv[2])
    finally:
        window.close()
    print(f'checks {checks} failures {failures}')


main(sys.argv[1])
