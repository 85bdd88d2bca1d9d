// Line icons on a grid of 24, drawn for this app.
const paths = {
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h10v11H9zM15 9V4H5v11h4',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  again: 'M19 12a7 7 0 1 1-2-5M18 3v4.5h-4.5',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 8h8v8H8z',
  attach: 'M19 11l-7.5 7.5a4 4 0 0 1-5.7-5.7L14 4.5a2.7 2.7 0 0 1 3.8 3.8l-7.8 7.8a1.3 1.3 0 0 1-1.9-1.9L15 7.5',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  settings: 'M4 7h9M19 7h1M4 17h1M11 17h9M13 7a3 3 0 1 0 6 0a3 3 0 1 0-6 0M5 17a3 3 0 1 0 6 0a3 3 0 1 0-6 0',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  export: 'M12 15V4M8 8l4-4 4 4M5 14v6h14v-6',
  import: 'M12 4v11M8 11l4 4 4-4M5 14v6h14v-6',
  chat: 'M4 5h16v11H10l-5 4v-4H4z',
  monitor: 'M3 13h4l3-8 4 14 3-6h4',
  model: 'M5 19h14M7 14h10M9 9h6M11 4h2',
  system: 'M4 5h16v11H4zM9 20h6M12 16v4',
  light: 'M8 12a4 4 0 1 0 8 0a4 4 0 1 0-8 0M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M5.6 18.4L7 17M17 7l1.4-1.4',
  dark: 'M19 14.5A8 8 0 0 1 9.5 5a8 8 0 1 0 9.5 9.5z',
  keys: 'M3 7h18v11H3zM7 11h.01M11 11h.01M15 11h.01M8 15h8',
  tool: 'M14.5 6.5a4 4 0 0 1 5-1l-3 3 .5 2 2 .5 3-3a4 4 0 0 1-5.5 4.5L9 20l-3-3 8-8a4 4 0 0 1 .5-2.5z',
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);
