declare module '@engine-wasm' {
  /** Address of trainmem.wasm, relative to the module that imports it. */
  const address: string;
  export default address;
}
