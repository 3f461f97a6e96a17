export default {
  // ...
  scripts: [{ src: 'https://example.org/trainmem/trainmem-calculator.js', type: 'module' }],
};
