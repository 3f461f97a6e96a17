// The answer that the page carries, and script that draws it again.
import assert from 'node:assert/strict';
import { live, openCalculator, origin, pageTest, patient } from './chromium.js';

/** What is checked, and every piece of text of the first view with the place where it stands. */
const seen = page =>
  page.locator('trainmem-calculator').evaluate(element => {
    const checked = [...element.shadowRoot.querySelectorAll('.answer input:checked')];
    const found = checked.map(one => `${one.name} ${one.value}`);
    for (const one of element.shadowRoot.querySelectorAll('.pickers *, .answer *')) {
      const text = [...one.childNodes]
        .filter(node => node.nodeType === 3)
        .map(node => node.data)
        .join('')
        .trim();
      const { x, y, width, height } = one.getBoundingClientRect();
      if (text && width > 1)
        found.push([text.replace(/\s+/g, ' '), ...[x, y, width, height].map(Math.round)].join(' | '));
    }
    return found;
  });

for (const width of [1280, 390])
  pageTest(
    `script draws the first answer as the page carries it, ${width} pixels wide`,
    { tolerate: /Failed to/, viewport: { width, height: 900 } },
    async page => {
      await patient(page);
      let refuse = true;
      await page.route('**/trainmem-calculator.js', route => (refuse ? route.abort() : route.continue()));
      await page.goto(origin());
      await page.locator('trainmem-calculator [inert] .total').waitFor();
      const carried = await seen(page);
      assert.ok(carried.length > 20, carried.join('\n'));
      refuse = false;
      await openCalculator(page);
      assert.equal(await page.locator(`trainmem-calculator ${live}`).count(), 1);
      assert.deepEqual(await seen(page), carried);
    },
  );

pageTest('what was recorded for a first visit is what the engine answers', {}, async page => {
  await patient(page);
  await openCalculator(page);
  const answered = () =>
    page.locator('trainmem-calculator').evaluate(async element => {
      const { good, engine, config } = element.calculator.state;
      const recorded = { result: good.result, config: good.config };
      await engine.finish();
      const { result, config: resolved } = engine.estimate(config);
      return [recorded, { result, config: resolved }];
    });
  const [recorded, own] = await answered();
  assert.ok(Object.keys(own.config.recipe).length > 80);
  assert.deepEqual(recorded, own);
});
