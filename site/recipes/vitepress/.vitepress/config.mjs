export default {
  title: 'Training Llama 2',
  head: [['script', { type: 'module', src: 'https://example.org/trainmem/trainmem-calculator.js' }]],
  vue: { template: { compilerOptions: { isCustomElement: tag => tag === 'trainmem-calculator' } } },
};
