import type { View } from '../../ui/shell';
export const compare: View = { panel: true, open: () => () => {} };
