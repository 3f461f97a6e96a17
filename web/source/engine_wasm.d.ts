declare module '@engine-wasm' {
  /** Address of the engine's module, relative to the module that imports it. */
  const address: string;
  export default address;
}
