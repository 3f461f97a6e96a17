declare module '@engine-wasm' {
  /** Address of the engine's first module, relative to the module that imports it. */
  const address: string;
  export default address;
}

declare module '@engine-rest' {
  /** Address of the rest; empty where the first module is all of the engine. */
  const address: string;
  export default address;
}
