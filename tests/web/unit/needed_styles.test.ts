// What a piece of HTML has a use for of a style sheet.
import { expect, test } from 'vitest';
import { neededStyles } from '../../../web/pages/needed_styles.js';

const html = '<div class="a b"><p class="c">text</p></div>';

test.each([
  ['p{x:1}', 'p{x:1}'],
  ['.a{x:1}.z{x:2}', '.a{x:1}'],
  ['.a.z{x:1}.a.b>.c{x:2}', '.a.b>.c{x:2}'],
  ['.z,.a .c,.z .c{x:1}', '.a .c{x:1}'],
  ['.a:not(.z){x:1}.a:is(.y,.z){x:2}', '.a:not(.z){x:1}.a:is(.y,.z){x:2}'],
  ['@media print{.z{x:1}}@media print{.z{x:1}.c{x:2}}', '@media print{.c{x:2}}'],
  ['@container (min-width:9px){@media print{.z{x:1}}}', ''],
  ['@keyframes z{from{x:1}to{x:2}}', '@keyframes z{from{x:1}to{x:2}}'],
  [':host([a]) .b::before{x:1}[data-part="z"]{x:2}', ':host([a]) .b::before{x:1}[data-part="z"]{x:2}'],
])('%s', (css, needed) => expect(neededStyles(css, html)).toBe(needed));
