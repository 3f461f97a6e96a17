// Accessibility in every state, widths, requests, and nothing that moves. Sizes: wasm_bindings/check_size.mjs.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { AxeBuilder, headline, openCalculator, origin, pageTest, patient, unfold } from './chromium.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

async function accessible(page) {
  const { violations } = await new AxeBuilder({ page }).withTags(tags).analyze();
  const found = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(node => node.target.flat().join(' ')).join('; ')}`,
  );
  assert.deepEqual(found, []);
}

const states = {
  'as it opens': async () => {},
  'with a row, a formula and More open': async page => {
    await page.locator('tr.row button').first().click();
    for (const panel of ['ladder', 'speed', 'textbook']) await unfold(page, panel);
    await page.locator('.formulahead').first().click();
    await page.getByText('More', { exact: true }).click();
    await page.locator('.outside summary').click();
  },
  'with a list open': async page => {
    await page.locator('#picker-model').click();
    await page.locator('#search-model').fill('llama');
  },
  'with errors': async page => {
    await page.getByLabel('Sequence length', { exact: true }).fill('many');
    const parallelism = page.locator('[data-group=Parallelism]');
    if (!(await parallelism.evaluate(group => group.open))) await parallelism.locator('summary').click();
    await page.getByLabel('Tensor parallel', { exact: true }).fill('3');
  },
};
const looks = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  'phone, light': { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
};

for (const [look, options] of Object.entries(looks)) {
  for (const [state, act] of Object.entries(states)) {
    pageTest(`axe finds nothing: ${look}, ${state}`, { reducedMotion: 'reduce', ...options }, async page => {
      await openCalculator(page);
      await act(page);
      await accessible(page);
    });
  }
}

pageTest('axe finds nothing: a broken link', {}, async page => {
  await openCalculator(page, 'v=1&model=llama2-7b&gpu=h100-sxm&foo=1');
  await accessible(page);
});

pageTest('axe finds nothing: the embed', {}, async page => {
  await page.goto(`${origin()}/embed.html?view=compact#v=1&model=llama2-7b&gpu=h100-sxm&end`);
  await page.locator('.total').waitFor();
  const { violations } = await new AxeBuilder({ page }).withTags(tags.slice(0, -1)).analyze();
  assert.deepEqual(
    violations.map(({ id }) => id),
    [],
  );
});

for (const name of ['method', 'accuracy', 'embedding']) {
  for (const colorScheme of ['light', 'dark']) {
    pageTest(`axe finds nothing: ${name}, ${colorScheme}`, { colorScheme }, async page => {
      await page.goto(`${origin()}/${name}.html`);
      if (name === 'embedding') await page.locator('.total').waitFor();
      await accessible(page);
    });
  }
}

for (const width of [320, 390, 768, 1280]) {
  pageTest(`no horizontal scrolling at ${width} pixels`, { viewport: { width, height: 800 } }, async page => {
    await openCalculator(page);
    await page.locator('tr.row button').first().click();
    for (const panel of ['ladder', 'speed', 'textbook']) await unfold(page, panel);
    await page.locator('.formulahead').first().click();
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    await page.locator('#picker-gpu').click();
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
  });
}

pageTest(
  'targets are 44 pixels high where fingers are',
  { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  async page => {
    await openCalculator(page);
    for (const panel of ['ladder', 'speed', 'textbook']) await unfold(page, panel);
    await page.locator('#speed summary').first().waitFor();
    const small = await page.evaluate(() => {
      const within = root =>
        [...root.querySelectorAll('*')].flatMap(one => [one, ...(one.shadowRoot ? within(one.shadowRoot) : [])]);
      const height = one => one?.getBoundingClientRect().height ?? 0;
      return within(document)
        .filter(one => one.matches('button, select, input:not([type=range], [type=checkbox]), a, summary'))
        .filter(one => one.getClientRects().length > 0 && getComputedStyle(one).visibility === 'visible')
        .filter(one => !one.closest('p'))
        .map(one => [one.className || one.tagName, Math.max(height(one), height(one.closest('.box, label')))])
        .filter(([, height]) => height < 44);
    });
    assert.deepEqual(small, []);
  },
);

pageTest(
  'the first visit takes at most four requests and 100 KB, all from this origin; a sign of the reader brings the engine',
  {},
  async (page, { requests }) => {
    await patient(page);
    await openCalculator(page);
    await page.locator('#advice .suggestion').first().waitFor();
    assert.ok(
      requests.every(url => url.startsWith(origin())),
      requests.join(' '),
    );
    assert.ok(requests.length <= 4, requests.join(' '));
    const bodies = await Promise.all(requests.map(async url => Buffer.from(await (await fetch(url)).arrayBuffer())));
    const bytes = bodies.reduce((sum, body) => sum + gzipSync(body, { level: 9 }).length, 0);
    assert.ok(bytes <= 100_000, `${bytes} bytes`);
    assert.equal(page.workers().length, 0);
    const engine = page.waitForRequest(/\.wasm$/);
    const worker = page.waitForEvent('worker');
    await page.mouse.move(200, 200);
    await engine;
    // The engine's code is compiled there, where no click waits for it.
    await worker;
  },
);

pageTest('in forced colours what opens, is on and is chosen still shows', { forcedColors: 'active' }, async page => {
  await openCalculator(page);
  await page.locator('#sweeps .axes').waitFor();
  const differ = (one, other) =>
    page.evaluate(
      ([one, other]) => {
        const find = selector => {
          const { shadowRoot } = document.querySelector('trainmem-calculator');
          return (
            shadowRoot.querySelector(selector) ??
            shadowRoot.querySelector('trainmem-explore').shadowRoot.querySelector(selector)
          );
        };
        const look = selector => {
          const { backgroundColor, backgroundImage } = getComputedStyle(find(selector));
          return `${backgroundColor} ${backgroundImage}`;
        };
        return look(one) !== look(other);
      },
      [one, other],
    );
  assert.ok(await differ('.pick > .chevron', '.pick'), 'the mark of a list');
  assert.ok(await differ('.unfold[aria-expanded=true] > .chevron', '.unfold'), 'the mark of what opens');
  assert.ok(await differ('.switch:checked', '.switch:not(:checked)'), 'a switch');
  assert.ok(await differ('.axes input:checked + span', '.axes input:not(:checked) + span'), 'one of several');
});

pageTest('nothing moves while the page arrives', {}, async page => {
  await page.addInitScript(() => {
    window.moved = 0;
    new PerformanceObserver(list => {
      for (const entry of list.getEntries()) window.moved += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await openCalculator(page);
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => window.moved), 0);
});

pageTest('keyboard alone: the order is the visual one and every control shows its focus', {}, async page => {
  await openCalculator(page);
  const seen = [];
  for (let press = 0; press < 10; press++) {
    await page.keyboard.press('Tab');
    seen.push(
      await page.evaluate(() => {
        let at = document.activeElement;
        while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
        return at.id || at.className || at.textContent.trim();
      }),
    );
  }
  assert.deepEqual(seen, [
    'skip',
    'trainmem',
    'Calculator',
    'Method',
    'Accuracy',
    'Embedding',
    'Links',
    'picker-model',
    'picker-gpu',
    'picker-recipe',
  ]);
  await page.locator('#picker-model').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.type('mistral');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.match(await headline(page), /tral/);
  assert.equal(
    await page.evaluate(() => document.querySelector('trainmem-calculator').shadowRoot.activeElement.id),
    'picker-model',
  );
});

pageTest('what is typed before a list has opened is for the list, to the choice', {}, async page => {
  await openCalculator(page);
  await page.evaluate(() => {
    const button = document.querySelector('trainmem-calculator').shadowRoot.querySelector('#picker-model');
    button.focus();
    for (const key of ['ArrowDown', ...'mistral nemo', 'ArrowDown', 'ArrowUp', 'Enter'])
      button.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  });
  await page.getByText('Mistral NeMo 12B needs', { exact: false }).first().waitFor();
  assert.equal(
    await page.evaluate(() => document.querySelector('trainmem-calculator').shadowRoot.activeElement.id),
    'picker-model',
  );
});

pageTest('a link to another configuration asks for the engine before the script has come', {}, async page => {
  let release;
  const script = new Promise(resolve => {
    release = resolve;
  });
  await page.route('**/trainmem-calculator.js', async route => {
    await script;
    await route.continue();
  });
  const engine = page.waitForRequest('**/*.wasm');
  await page.goto(`${origin()}/#v=1&model=gpt2&gpu=h100-sxm&end`, { waitUntil: 'commit' });
  await engine;
  release();
  assert.match(await headline(page), /GPT-2/);
});

pageTest('the meaning of a field is its description, though it is not drawn', {}, async page => {
  await openCalculator(page);
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  const field = nodes.find(({ role, name }) => role?.value === 'textbox' && name?.value === 'Micro-batch size');
  assert.equal(field.description?.value, await page.locator('#field-recipe-micro_batch_size-help').textContent());
  assert.notEqual(field.description.value, '');
});
