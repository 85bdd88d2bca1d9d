// Figures as people read them.
export const count = (value: number) => Math.round(value).toLocaleString('en');

/// Three figures at most: 0, 0.25, 12.3, 1,234.
export const rate = (value: number) => value.toLocaleString('en', { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 });

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
export function bytes(value: number): string {
  const step = value < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** step;
  return `${scaled.toLocaleString('en', { maximumFractionDigits: step === 0 || scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2 })} ${units[step]}`;
}

/// The next power of two, or one and a half times one: the same for bytes.
export function powerAbove(value: number): number {
  if (!(value > 0)) return 1;
  const power = 2 ** Math.floor(Math.log2(value));
  return [1, 1.5, 2].map((factor) => factor * power).find((top) => top >= value) ?? value;
}

/// The next 1, 2 or 5 times a power of ten: the top of a plot's axis.
export function niceAbove(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((top) => top >= value) ?? value;
}
