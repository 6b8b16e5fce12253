// Builds everything into dist/viewer.html and fills in the hashes of its Content-Security-Policy.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

const sha256 = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Only the script and the style sheet of this very build may run. */
function contentSecurityPolicy() {
  return {
    name: 'content-security-policy',
    writeBundle(options) {
      const built = `${options.dir}/index.html`;
      const page = readFileSync(built, 'utf8');
      const inside = (tag) => [...page.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))].map((m) => sha256(m[1]));
      const [scripts, styles] = [inside('script'), inside('style')];
      if (scripts.length !== 1 || styles.length !== 1) throw new Error(`expected one script and one style, found ${scripts.length} and ${styles.length}`);
      const filled = page.replace('script-hash', scripts[0].slice(1, -1)).replace('style-hash', styles[0].slice(1, -1));
      writeFileSync(built, filled);
      rmSync(`${options.dir}/viewer.html`, { force: true });
      renameSync(built, `${options.dir}/viewer.html`);
    },
  };
}

/** The analysis in WebAssembly, as `cargo xtask wasm` left it. */
function analysis() {
  return {
    name: 'analysis',
    resolveId: (id) => (id === 'virtual:analysis' ? `\0${id}` : null),
    load: (id) => (id === '\0virtual:analysis' ? `export default ${JSON.stringify(readFileSync(new URL('wasm/analysis.wasm.gz', import.meta.url)).toString('base64'))}` : null),
  };
}

export default defineConfig({
  base: './',
  build: {
    target: 'es2022', assetsInlineLimit: 1e8, cssCodeSplit: false, modulePreload: false, emptyOutDir: false, reportCompressedSize: false,
    outDir: process.env.VIEWER_OUT ?? 'dist',
  },
  worker: { format: 'iife', plugins: () => [analysis()] },
  plugins: [analysis(), viteSingleFile({ removeViteModuleLoader: true }), contentSecurityPolicy()],
});
