// Of a style sheet what a piece of HTML has a use for: rules whose selectors ask for classes that do not occur are left
// out. Nested at-rules are looked into; all other selectors are taken to match.

/** [what stands before the braces, what stands in them] of each rule, in order. */
function rules(css) {
  const found = [];
  for (let at = 0, open = css.indexOf('{'); open >= 0; open = css.indexOf('{', at)) {
    let end = open + 1;
    for (let depth = 1; depth > 0 && end < css.length; end++) depth += { '{': 1, '}': -1 }[css[end]] ?? 0;
    found.push([css.slice(at, open).trim(), css.slice(open + 1, end - 1)]);
    at = end;
  }
  return found;
}

const selectors = text => text.split(/,(?![^()]*\))/);
const classesOf = selector => [...selector.replace(/:(?:not|has|is|where)\([^)]*\)/g, '').matchAll(/\.([\w-]+)/g)];

export function neededStyles(css, html) {
  const here = new Set([...html.matchAll(/class="([^"]*)"/g)].flatMap(([, names]) => names.split(/\s+/)));
  const matches = selector => classesOf(selector).every(([, name]) => here.has(name));
  const kept = css =>
    rules(css)
      .map(([before, body]) => {
        if (/^@(media|container|supports)\b/.test(before)) return [before, kept(body)];
        return before.startsWith('@') ? [before, body] : [selectors(before).filter(matches).join(), body];
      })
      .filter(([before, body]) => before !== '' && body !== '')
      .map(([before, body]) => `${before}{${body}}`)
      .join('');
  return kept(css);
}
