import type { View } from '../../ui/shell';
export const tensor: View = { panel: true, open: () => () => {} };
