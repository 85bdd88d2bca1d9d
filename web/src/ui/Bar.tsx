// One quantity in parts, as a bar with a legend; the legend says everything that the colours do.
export interface Part {
  name: string;
  value: number;
  note?: string;
}

interface Props {
  label: string;
  parts: Part[];
  format: (value: number) => string;
}

export function Bar({ label, parts, format }: Props) {
  const shown = parts.filter((part) => part.value > 0);
  const total = shown.reduce((sum, part) => sum + part.value, 0);
  let at = 0;
  return (
    <div class="bar">
      <svg viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label={`${label}: ${format(total)}`}>
        {shown.map((part, i) => {
          const x = at;
          at += (part.value / total) * 1000;
          return (
            <rect key={part.name} class={`part-${i % 7}`} x={x} width={Math.max(at - x - 2, 1)} height="28">
              <title>{`${part.name}: ${format(part.value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <ul class="legend">
        {shown.map((part, i) => (
          <li key={part.name}>
            <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
              <rect class={`part-${i % 7}`} width="10" height="10" rx="2" />
            </svg>
            <span class="legend-name">
              {part.name}
              {part.note && <span class="hint"> {part.note}</span>}
            </span>
            <span class="number">{format(part.value)}</span>
            <span class="number share">{((part.value / total) * 100).toFixed(total === part.value ? 0 : 1)} %</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
