// The element and the iframe on pages of another origin.
import assert from 'node:assert/strict';
import { origin, otherOrigin, pageTest } from './chromium.js';

const link = 'v=1&model=llama2-7b&gpu=h100-sxm&seq=2048&end';

async function hosted(page, html, body) {
  const host = await otherOrigin({
    'index.html': `<!doctype html><meta charset="utf-8"><title>host</title><link rel="icon" href="data:,">${html}`,
  });
  try {
    await page.goto(`${host.origin}/index.html`);
    await body(host);
  } finally {
    await host.close();
  }
}

const snippet = attributes => `<script type="module" src="${origin()}/trainmem-calculator.js"></script>
<div><trainmem-calculator ${attributes}><a href="https://example.org/">calculator</a></trainmem-calculator></div>`;

pageTest('two lines put the element on a bare page of another origin, and nothing else', {}, async page => {
  await hosted(page, '<p id="before">text</p>', async host => {
    const globals = await page.evaluate(() => Object.keys(window).length);
    const style = () => page.locator('#before').evaluate(element => JSON.stringify({ ...getComputedStyle(element) }));
    const before = await style();
    await page.evaluate(
      ([source, config]) => {
        const script = document.createElement('script');
        script.type = 'module';
        script.src = source;
        const element = document.createElement('trainmem-calculator');
        element.setAttribute('config', config);
        document.body.append(script, element);
      },
      [`${origin()}/trainmem-calculator.js`, link],
    );
    await page.locator('trainmem-calculator .total').waitFor();
    assert.equal(await page.evaluate(() => Object.keys(window).length), globals);
    assert.equal(await style(), before);
    assert.equal(page.url(), `${host.origin}/index.html`);
    assert.equal(await page.title(), 'host');
    await page.getByLabel('Sequence length', { exact: true }).fill('1024');
    await page.waitForTimeout(250);
    assert.equal(page.url(), `${host.origin}/index.html`);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
  });
});

pageTest('the element takes links and JSON, three views, units, a theme, and can be read-only', {}, async page => {
  await hosted(
    page,
    `${snippet(`id="a" config="${link}" view="compact"`)}
     <trainmem-calculator id="b" view="bar" units="GB" theme="dark" config='{"model":"mistral-7b-v0.3","gpu":"h100-sxm","recipe":{"sequence_length":1024}}'></trainmem-calculator>
     <trainmem-calculator id="c" readonly config="https://example.org/#${link}"></trainmem-calculator>
     <trainmem-calculator id="d" view="bar" units="bytes" config="${link}"></trainmem-calculator>
     <trainmem-calculator id="e" view="bar" config="${link.replace(/end$/, 'view.units=GB&end')}"></trainmem-calculator>
     <trainmem-calculator id="f" view="bar" units="furlongs" config="${link}"></trainmem-calculator>`,
    async () => {
      await page.locator('#a .total').waitFor();
      await page.locator('#b .total').waitFor();
      await page.locator('#c .total').waitFor();
      assert.match(await page.locator('#a .headline').innerText(), /^Llama 2 7B needs .+ GiB/);
      assert.match(await page.locator('#b .headline').innerText(), /^Mistral 7B.* needs .+ GB of .+ GB/);
      assert.equal(await page.locator('#a .total').innerText(), await page.locator('#c .total').innerText());
      for (const [id, words] of [
        ['d', / needs [\d,]{12,} bytes\s+of [\d,]{12,} bytes$/],
        ['e', / needs [\d.]+ GB\s+of [\d.]+ GB$/],
        ['f', / needs [\d.]+ GiB\s+of [\d.]+ GiB$/],
      ]) {
        await page.locator(`#${id}`).scrollIntoViewIfNeeded();
        await page.locator(`#${id} .total`).waitFor();
        assert.match(await page.locator(`#${id} .headline`).innerText(), words);
      }
      assert.equal(await page.locator('#c input[inputmode]').count(), 0);
      assert.equal(await page.locator('#b .legend').count(), 0);
      assert.equal(await page.locator('#b').evaluate(element => getComputedStyle(element).colorScheme), 'dark');
      assert.match(
        await page.locator('#c a.button').getAttribute('href'),
        new RegExp(`^${origin()}/#v=1&model=llama2-7b`),
      );
    },
  );
});

pageTest('an attribute that is no configuration is named, and the element still works', {}, async page => {
  await hosted(
    page,
    `${snippet(`id="a" config='{"model": '`)}<trainmem-calculator id="b" config='{"modle":"llama2-7b"}'></trainmem-calculator>`,
    async () => {
      await page.locator('#a .total').waitFor();
      assert.match(await page.locator('#a .notice[role=status]').innerText(), /not valid JSON/);
      assert.match(await page.locator('#b .notice[role=status]').innerText(), /modle/);
    },
  );
});

pageTest(
  'many elements share one engine, do not disturb each other, and tell of changes',
  {},
  async (page, { requests }) => {
    const many = Array.from(
      { length: 12 },
      (_, index) =>
        `<trainmem-calculator id="e${index}" view="bar" config="v=1&model=llama2-7b&gpu=h100-sxm&seq=${512 * (index + 1)}&end"></trainmem-calculator>`,
    );
    await hosted(page, `${snippet('id="first" view="compact"')}${many.join('')}`, async () => {
      await page.locator('#first .total').waitFor();
      for (let index = 0; index < 12; index++) await page.locator(`#e${index}`).scrollIntoViewIfNeeded();
      await page.locator('#e11 .total').waitFor();
      const modules = requests.filter(url => url.endsWith('.wasm'));
      assert.equal(modules.length, 1, 'the engine is fetched once');
      await page.evaluate(() => {
        document.addEventListener('trainmem-change', event => {
          document.body.dataset.heard = JSON.stringify([
            event.target.id,
            event.detail.link,
            event.detail.result.allocated > 0,
          ]);
        });
      });
      const other = await page.locator('#e3 .total').innerText();
      await page.locator('#first').getByLabel('Sequence length', { exact: true }).fill('1k');
      await page.locator('#first').evaluate(element => element.updateComplete);
      const heard = JSON.parse(await page.evaluate(() => document.body.dataset.heard));
      assert.equal(heard[0], 'first');
      assert.match(heard[1], /seq=1024/);
      assert.equal(heard[2], true);
      assert.equal(await page.locator('#e3 .total').innerText(), other);
      assert.equal(await page.locator('#first').evaluate(element => element.value), heard[1]);
    });
  },
);

pageTest(
  'fifty elements on the screen fetch one engine, and the first are drawn before the others begin',
  { viewport: { width: 1280, height: 20_000 } },
  async (page, { requests }) => {
    await page.addInitScript(() => {
      globalThis.counts = new Set();
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        const elements = [...document.querySelectorAll('trainmem-calculator')];
        counts.add(elements.filter(one => one.shadowRoot?.querySelector('.total')).length);
        if (!counts.has(50)) port2.postMessage(0);
      };
      port2.postMessage(0);
    });
    const link = index => `v=1&model=llama2-7b&gpu=h100-sxm&seq=${96 * (index + 1)}&end`;
    const many = Array.from({ length: 50 }, (_, index) => snippet(`view="bar" config="${link(index)}"`));
    await hosted(page, many.join(''), async () => {
      await page.waitForFunction(() => globalThis.counts.has(50));
      const between = await page.evaluate(() => counts.size - 2);
      assert.ok(between > 5, `${between} times some were drawn and others not`);
      assert.equal(requests.filter(url => url.endsWith('.wasm')).length, 1);
      const links = await page.locator('trainmem-calculator').evaluateAll(all => all.map(({ value }) => value));
      assert.deepEqual(
        links,
        Array.from({ length: 50 }, (_, index) => link(index)),
      );
    });
  },
);

const frame = (
  attributes,
  query = '',
) => `<iframe id="frame" title="GPU memory" style="width:700px;height:300px;border:0" ${attributes} src="${origin()}/embed.html${query}#${link}"></iframe>
<script>
  addEventListener('message', event => {
    const frame = document.getElementById('frame');
    if (event.source !== frame.contentWindow || event.data?.type !== 'trainmem:height') return;
    frame.style.height = Math.min(20000, Math.max(120, event.data.height)) + 'px';
  });
</script>`;

async function framed(page, attributes, query) {
  await hosted(page, frame(attributes, query), async host => {
    const inner = page.frameLocator('#frame');
    await inner.locator('.total').waitFor();
    await page.waitForTimeout(150);
    // What is answered later makes the page taller: the frame follows.
    const heights = async () => [
      await page.locator('#frame').evaluate(element => element.clientHeight),
      await inner.locator('trainmem-calculator').evaluate(element => element.getBoundingClientRect().height),
    ];
    const fits = async () => {
      let [height, content] = await heights();
      for (let turn = 0; turn < 40 && Math.abs(height - content) > 1; turn++) {
        await page.waitForTimeout(250);
        [height, content] = await heights();
      }
      assert.ok(Math.abs(height - content) <= 1, `frame ${height}, content ${content}`);
    };
    await fits();
    assert.match(await inner.locator('.headline').innerText(), /^Llama 2 7B needs/);
    if (!query) {
      await inner.locator('tr.row button').first().click();
      await page.waitForTimeout(150);
      await fits();
    }
    assert.equal(page.url(), `${host.origin}/index.html`);
    const address = page
      .frames()
      .find(one => one.url().includes('embed.html'))
      .url();
    assert.ok(address.endsWith(`#${link}`), 'an embed never touches its address');
  });
}

pageTest('an embed that is asked for an unknown view shows all of the calculator', {}, async page => {
  await page.goto(`${origin()}/embed.html?view=huge#${link}`);
  await page.locator('#rows').waitFor();
  assert.equal(await page.locator('trainmem-calculator').getAttribute('view'), 'full');
});

pageTest('a frame that the browser has loaded answers, though it is far from sight', {}, async page => {
  const frame = `<iframe title="calculator" sandbox="allow-scripts" src="${origin()}/embed.html?view=bar#${link}"></iframe>`;
  await hosted(page, `<div style="height:5000px"></div>${frame}`, async () => {
    await page.frameLocator('iframe').locator('.total').waitFor({ state: 'attached' });
    assert.equal(await page.evaluate(() => scrollY), 0);
  });
});

pageTest('an iframe of another origin has the height of its content', {}, page => framed(page, ''));
pageTest('a sandboxed iframe works with allow-scripts alone', {}, page => framed(page, 'sandbox="allow-scripts"'));
pageTest('an iframe can show the bar alone', {}, page =>
  framed(page, 'loading="lazy"', '?view=bar&theme=dark&units=GiB'),
);
