// Prism's grammars expect a global name, and Prism must not look for code in the page by itself.

import Prism from 'prismjs/components/prism-core';

Prism.manual = true;
(globalThis as { Prism?: unknown }).Prism = Prism;
