const PATHS = {
  approvals: 'M3 8.5 6.5 12 13 4.5',
  moderation: 'M8 1.8 13.5 4v4c0 3-2.2 5.2-5.5 6.2C4.7 13.2 2.5 11 2.5 8V4z',
  chat: 'M2.5 3.5h11v7.5h-6l-3 2.5v-2.5h-2z',
  sessions: 'M3 4h10M3 8h10M3 12h6',
  recharges:
    'M8 2v12M11 4.5C10.3 3.8 9.3 3.5 8 3.5c-2 0-3 .9-3 2.2 0 3.1 6.2 1.4 6.2 4.6 0 1.3-1.2 2.2-3.2 2.2-1.5 0-2.6-.4-3.4-1.2',
  settings: 'M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 3.3v3.4M6 9.3v3.4',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  close: 'M4 4l8 8M12 4l-8 8',
  warning: 'M8 2.2 14.5 13.5h-13zM8 6.5v3.3M8 11.5v.3',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3.2l2.2 1.4',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.8h-2.8',
  arrow: 'M3 8h9.5M9 4.5 12.5 8 9 11.5',
  bell: 'M8 2.2c-2.3 0-3.6 1.7-3.6 3.8 0 3.5-1.4 4.5-1.4 4.5h10s-1.4-1-1.4-4.5c0-2.1-1.3-3.8-3.6-3.8M6.8 13h2.4',
  logOut: 'M6.5 3H3v10h3.5M7 8h6.5M11 5.5 13.5 8 11 10.5',
} as const;

export type IconName = keyof typeof PATHS;

/** A drawing beside a text. It says nothing by itself, and screen readers skip it. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
