/** The module of pellucid-trace-wasm, gzipped, in base64. */
declare module 'virtual:analysis' {
  const packed: string;
  export default packed;
}

/** Of workers only; the types of pages do not have it. */
declare class FileReaderSync {
  readAsArrayBuffer(file: Blob): ArrayBuffer;
}
