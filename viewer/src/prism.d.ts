declare module 'prismjs/components/prism-core' {
  const Prism: { manual: boolean; languages: Record<string, object | undefined>; tokenize(text: string, grammar: object): unknown[] };
  export default Prism;
}
declare module 'prismjs/components/*';
