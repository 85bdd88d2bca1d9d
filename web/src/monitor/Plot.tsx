import { useState } from 'preact/hooks';
import { niceAbove } from '../ui/units';
import { kSpan, type Sample } from './history';

interface Props {
  title: string;
  samples: Sample[];
  value: (sample: Sample) => number;
  format: (value: number) => string;
  /// The least height of the axis.
  top?: number;
  /// The height of the axis for the largest value.
  axis?: (value: number) => number;
}

const kWidth = 300;
const kHeight = 100;

export function Plot({ title, samples, value, format, top = 1, axis = niceAbove }: Props) {
  const [hovered, setHovered] = useState<number | null>(null);
  const end = samples.at(-1)?.time ?? 0;
  const height = axis(Math.max(top, ...samples.map(value)));
  const x = (time: number) => kWidth - ((end - time) / kSpan) * kWidth;
  const y = (amount: number) => kHeight - (amount / height) * (kHeight - 2);
  const line = samples.map((sample) => `${x(sample.time).toFixed(1)},${y(value(sample)).toFixed(1)}`).join(' ');
  const first = samples[0] ? x(samples[0].time).toFixed(1) : kWidth;

  const point = hovered === null ? undefined : nearest(samples, end - (1 - hovered) * kSpan);
  const shown = point ?? samples.at(-1);
  const ago = point ? Math.round((end - point.time) / 1000) : 0;
  return (
    <figure class="plot">
      <figcaption>
        <span>{title}</span>
        <span class="number">
          {shown ? format(value(shown)) : '-'}
          {ago > 0 && <span class="hint"> {ago} s ago</span>}
        </span>
      </figcaption>
      <div
        class="plot-area"
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setHovered((event.clientX - box.left) / box.width);
        }}
        onPointerLeave={() => setHovered(null)}
      >
        <svg viewBox={`0 0 ${kWidth} ${kHeight}`} preserveAspectRatio="none" role="img" aria-label={`${title}, the last five minutes`}>
          {[0.25, 0.5, 0.75].map((part) => (
            <line key={part} class="grid-line" x1="0" x2={kWidth} y1={kHeight * part} y2={kHeight * part} />
          ))}
          {samples.length > 1 && (
            <>
              <polygon class="plot-fill" points={`${first},${kHeight} ${line} ${kWidth},${kHeight}`} />
              <polyline class="plot-line" points={line} />
            </>
          )}
          {point && <line class="cursor-line" x1={x(point.time)} x2={x(point.time)} y1="0" y2={kHeight} />}
        </svg>
        <span class="axis axis-top">{format(height)}</span>
        <span class="axis axis-left">5 min ago</span>
        <span class="axis axis-right">now</span>
      </div>
    </figure>
  );
}

function nearest(samples: Sample[], time: number): Sample | undefined {
  let best: Sample | undefined;
  for (const sample of samples) {
    if (!best || Math.abs(sample.time - time) < Math.abs(best.time - time)) best = sample;
  }
  return best;
}
