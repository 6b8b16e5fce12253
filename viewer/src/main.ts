// The start of the page.

import './style/base.css';
import './style/views.css';
import { followTheme } from './colour';
import { writeLinks } from './link';
import { acceptDrops, loadGiven } from './ui/load';
import { start } from './ui/shell';
import { compare } from './view/compare';
import { dependencies } from './view/dependencies';
import { kernels } from './view/kernels';
import { memory } from './view/memory';
import { source } from './view/source';
import { summary } from './view/summary';
import { tensor } from './view/tensor';
import { timeline } from './view/timeline';

followTheme();
start(document.getElementById('app')!, { summary, timeline, dependencies, kernels, memory, tensor, source, compare });
acceptDrops();
writeLinks();
void loadGiven();
