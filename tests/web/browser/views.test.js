// How the page shows what it knows: units, colours of the timeline, and what is drawn when a reader opens something.
import assert from 'node:assert/strict';
import { fragment, headline, live, openCalculator, pageTest, patient, settled, total, unfold } from './chromium.js';

const radio = (page, name) => page.getByRole('radio', { name, exact: true });
const fills = page =>
  page
    .locator('[part=timeline] polygon')
    .evaluateAll(areas => areas.map(area => [area.dataset.phase ?? area.dataset.part, getComputedStyle(area).fill]));

pageTest(
  'the timeline has the colours of its phases, under their names, and names that of the peak',
  {},
  async page => {
    await openCalculator(page);
    const phases = ['initialise', 'forward', 'loss', 'backward', 'optimizer_step'];
    const drawn = await fills(page);
    assert.deepEqual(
      drawn.map(([name]) => name),
      phases,
    );
    assert.equal(new Set(drawn.map(([, fill]) => fill)).size, phases.length);
    const names = page.locator('[part=timeline] .phases span');
    assert.deepEqual(await names.allInnerTexts(), ['Init', 'Forward', 'Loss', 'Backward', 'Step']);
    const bars = await names.evaluateAll(all => all.map(one => getComputedStyle(one).borderBlockEndColor));
    assert.deepEqual(
      bars,
      drawn.map(([, fill]) => fill),
    );
    assert.match(await page.locator('[part=timeline] .lead').innerText(), /up to [\d.]+\sGiB in the optimizer step\./);
    assert.match(await page.locator('.readout p').innerText(), /Optimizer step\s+peak/);
    // Areas meet: the last point of one phase is the first of the next.
    const edges = await page
      .locator('[part=timeline] polygon')
      .evaluateAll(all =>
        all
          .map(area => [...area.points].slice(0, -2))
          .map(line => [line[0], line.at(-1)].map(({ x, y }) => `${x},${y}`)),
      );
    for (let index = 1; index < edges.length; index++) assert.equal(edges[index][0], edges[index - 1][1]);
  },
);

for (const width of [320, 390]) {
  pageTest(`every phase is named at ${width} pixels`, { viewport: { width, height: 800 } }, async page => {
    await openCalculator(page);
    const seen = await page
      .locator('.phases span')
      .evaluateAll(all =>
        all.map(one => one.querySelector('b').getBoundingClientRect().bottom <= one.getBoundingClientRect().bottom),
      );
    assert.deepEqual(seen, [true, true, true, true, true]);
  });
}

pageTest('the timeline by component: a switch that keys reach, kept in the link, undone by Back', {}, async page => {
  await openCalculator(page);
  await radio(page, 'By phase').focus();
  await page.keyboard.press('ArrowRight');
  await settled(page);
  assert.equal(await radio(page, 'By component').isChecked(), true);
  assert.ok((await fills(page)).some(([name]) => name === 'optimizer_states'));
  assert.equal(await page.locator('.phases.coloured').count(), 0);
  assert.match(await fragment(page), /&view\.timeline=component&end$/);
  await page.reload();
  await page.locator(live).waitFor();
  await settled(page);
  assert.equal(await radio(page, 'By component').isChecked(), true);
  await radio(page, 'By phase').check({ force: true });
  assert.match(await fragment(page), /gpu=h100-sxm&end$/);
});

pageTest('in bytes every figure is exact, results and fields alike', {}, async page => {
  await openCalculator(page);
  await radio(page, 'bytes').check({ force: true });
  await settled(page);
  const exact = await page.locator('.total').getAttribute('title');
  assert.equal(await page.locator('.total').innerText(), exact);
  assert.match(exact, /^[\d,]{15} bytes$/);
  for (const figure of await page.locator('.legend .figure, tr.row .figure:not(.share)').allInnerTexts())
    assert.match(figure, /^[\d,]+ bytes$/);
  assert.match(await fragment(page), /&view\.units=bytes&end$/);
});

pageTest('sizes in fields follow the units; a number alone is one of them', {}, async page => {
  await openCalculator(page);
  await page.getByText('More', { exact: true }).click();
  await page.getByLabel('Find a field', { exact: true }).fill('memory');
  const field = page.getByLabel('Memory, usable', { exact: true });
  assert.equal(await field.inputValue(), '79.09961');
  await radio(page, 'GB').check({ force: true });
  await settled(page);
  assert.equal(await field.inputValue(), '84.93256');
  await field.fill('40');
  assert.match(await headline(page), / of 40\.0 GB$/);
  await field.blur();
  await radio(page, 'GiB').check({ force: true });
  await settled(page);
  assert.equal(await field.inputValue(), '37.2529');
});

pageTest('the capacity is told in GiB and GB, and as the driver shows it', {}, async page => {
  await openCalculator(page);
  assert.match(await page.locator('#picker-gpu .summary').innerText(), /^80\.0 GiB \(85\.9 GB\) HBM3/);
  assert.equal(await page.locator('.axis').innerText(), '79.1 GiB (84.9 GB) usable, driver shows 79.6 GiB');
  await page.locator('#ladder .unfold').click();
  assert.match(
    await page.locator('.rung').last().innerText(),
    /The GPU is sold with 80\.0 GiB \(85\.9 GB\), shows 79\.6 GiB \(85\.5 GB\), gives a program 79\.1 GiB \(84\.9 GB\)\./,
  );
});

/** What stands there when the frame after `act` is drawn, and once all is. */
const firstFrame = (page, act, look) =>
  page.locator('trainmem-calculator').evaluate(
    async (element, [act, look]) => {
      const run = text => new Function('root', `return ${text}`)(element.shadowRoot);
      run(act);
      await new Promise(resolve => requestAnimationFrame(resolve));
      const first = run(look);
      await element.updateComplete;
      await new Promise(resolve => setTimeout(resolve, 100));
      return [first, run(look)];
    },
    [act, look],
  );

pageTest(
  'a click is answered in a frame of its own; what it opens or changes follows',
  { bypassCSP: true },
  async page => {
    await openCalculator(page);
    const row = `root.querySelector('tr.row button')`;
    assert.deepEqual(
      await firstFrame(page, `${row}.click()`, `[${row}.ariaExpanded, root.querySelectorAll('tr.detail').length]`),
      [
        ['true', 0],
        ['true', 1],
      ],
    );
    assert.deepEqual(
      await firstFrame(page, `${row}.click()`, `[${row}.ariaExpanded, root.querySelectorAll('tr.detail').length]`),
      [
        ['false', 1],
        ['false', 0],
      ],
    );
    const [before, after] = await firstFrame(
      page,
      `root.querySelector('input[value=GB]').click()`,
      `[root.querySelector('input[value=GB]').checked, root.querySelector('.total').innerText.split(' ').at(-1)]`,
    );
    assert.deepEqual(
      [before, after],
      [
        [true, 'GiB'],
        [true, 'GB'],
      ],
    );
    const [closed, opened] = await firstFrame(
      page,
      `root.querySelector('details.more > summary').click()`,
      `[root.querySelector('details.more').open, root.querySelectorAll('.more .group').length]`,
    );
    assert.deepEqual(closed, [true, 0]);
    assert.ok(opened[0] && opened[1] > 9, String(opened));
    const [first, then] = await firstFrame(
      page,
      `root.querySelector('#picker-gpu').click()`,
      `[root.activeElement?.id, root.querySelectorAll('.option').length]`,
    );
    assert.deepEqual(first, [undefined, 0]);
    assert.ok(then[0] === 'search-gpu' && then[1] > 9, String(then));
  },
);

pageTest('fields that are found stand below the search box, in sight', {}, async page => {
  await openCalculator(page);
  await page.locator('details.more > summary').click();
  await page.getByLabel('Find a field').pressSequentially('fsdp');
  await page.waitForFunction(() => {
    const { shadowRoot } = document.querySelector('trainmem-calculator');
    const strip = shadowRoot.querySelector('#knobs .strip').getBoundingClientRect();
    const fields = [...shadowRoot.querySelectorAll('.more .field')];
    return fields.length > 3 && fields[3].getBoundingClientRect().bottom <= strip.top;
  });
});

pageTest('a list opens in sight, however low the window', { viewport: { width: 320, height: 256 } }, async page => {
  await openCalculator(page);
  await page.locator('#picker-recipe').click();
  await page.locator('.option.active').waitFor();
  await settled(page);
  const { y, height } = await page.locator('.list').boundingBox();
  assert.ok(y >= 0 && y + height <= 257, `list from ${y}, ${height} high`);
  await page.keyboard.press('Escape');
  // What is chosen stands in the middle of its list.
  await page.locator('#picker-gpu').click();
  await settled(page);
  const chosen = await page.locator('.option.active').boundingBox();
  const options = await page.locator('#options-gpu').boundingBox();
  assert.ok(
    chosen.y >= options.y - 1 && chosen.y + chosen.height <= options.y + options.height + 1,
    JSON.stringify({ chosen, options }),
  );
});

pageTest('what is typed on the button of a list that is open already is searched for', {}, async page => {
  await openCalculator(page);
  const found = await page.evaluate(async () => {
    const { shadowRoot } = document.querySelector('trainmem-calculator');
    const button = () => shadowRoot.querySelector('#picker-gpu');
    const press = key => button().dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true }));
    button().focus();
    press('r');
    press('t');
    press('x');
    press(' ');
    while (!shadowRoot.querySelector('#search-gpu')) await new Promise(resolve => setTimeout(resolve));
    press('4');
    press('0');
    await new Promise(resolve => setTimeout(resolve, 300));
    return shadowRoot.querySelector('#search-gpu').value;
  });
  assert.equal(found, 'rtx 40');
});

pageTest('what is typed on the button of a list is searched for, however soon', {}, async page => {
  await openCalculator(page);
  await page.locator('#picker-gpu').focus();
  await page.keyboard.type('rtx 4');
  await settled(page);
  await page.waitForFunction(() => {
    const { shadowRoot } = document.querySelector('trainmem-calculator');
    return shadowRoot.querySelector('#search-gpu')?.value === 'rtx 4';
  });
  await page.getByRole('option', { name: 'GeForce RTX 4090' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.list').waitFor({ state: 'detached' });
  assert.equal(
    await page.evaluate(() => document.querySelector('trainmem-calculator').shadowRoot.activeElement.id),
    'picker-gpu',
  );
});

pageTest('one list takes the place of another, and closes when the focus leaves', {}, async page => {
  await openCalculator(page);
  await page.locator('#picker-model').click();
  await page.locator('#search-model').waitFor();
  await page.locator('#picker-gpu').click();
  await page.locator('#search-gpu').waitFor();
  assert.equal(await page.locator('.list').count(), 1);
  await page.keyboard.press('Shift+Tab');
  assert.equal(await page.locator('.list').count(), 1, 'its own button keeps it');
  await page.keyboard.press('Shift+Tab');
  await page.locator('.list').waitFor({ state: 'detached' });
  assert.equal(await page.locator('#picker-model').evaluate(one => one.getRootNode().activeElement === one), true);
});

pageTest('settings of the page alone ask for no engine', {}, async page => {
  await patient(page);
  const opened = [];
  page.on('request', request => opened.push(request.url()));
  await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&view.units=bytes&view.timeline=component&end');
  assert.match(await total(page), / bytes$/);
  assert.deepEqual(
    opened.filter(url => url.endsWith('.wasm')),
    [],
  );
});

for (const units of ['GiB', 'bytes']) {
  pageTest(`nothing is cut off at 320 pixels in ${units}`, { viewport: { width: 320, height: 800 } }, async page => {
    await openCalculator(page, `v=1&model=llama2-7b&gpu=h100-sxm&view.units=${units}&end`);
    await page.locator('tr.row button').first().click();
    await page.locator('#ladder .unfold').click();
    await settled(page);
    await page.locator('.slim').waitFor();
    const outside = await page.locator('trainmem-calculator').evaluate(element =>
      [...element.shadowRoot.querySelectorAll('.answer *, .slim *, [part=timeline] *, #rows *, #ladder *')]
        .filter(one => !one.closest('.visually-hidden, .phases, svg') && one.getClientRects().length > 0)
        .filter(one => one.getBoundingClientRect().right > 320 || one.getBoundingClientRect().left < 0)
        .map(one => `${one.className} ${one.textContent.trim().slice(0, 30)}`),
    );
    assert.deepEqual(outside, []);
  });
}

for (const units of ['GiB', 'GB', 'bytes']) {
  pageTest(`every figure carries its unit, in ${units}`, {}, async page => {
    await openCalculator(page, `v=1&model=llama2-7b&gpu=h100-sxm&view.units=${units}&end`);
    for (const panel of ['ladder', 'speed', 'textbook', 'fitson']) await unfold(page, panel);
    await page.locator('#speed table').first().waitFor();
    await settled(page);
    const figures = (await page.locator('.figure, #fitson td:nth-of-type(-n + 2)').allInnerTexts())
      .map(text => text.trim())
      .filter(Boolean);
    assert.ok(figures.length > 60, `${figures.length}`);
    const size = { GiB: /([KMGT]iB|bytes?)$/, GB: /([kMGT]B|bytes?)$/, bytes: /[\d,]+ bytes?$/ }[units];
    const others = /(%|[µm]?s|min|h|FLOPs?|[/]s|does not fit)$/;
    const bare = figures.filter(text => /\d/.test(text) && !size.test(text) && !others.test(text));
    assert.deepEqual(bare, []);
  });
}
