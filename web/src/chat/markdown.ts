// Markdown as HTML that is safe to show: what a model writes is as untrusted as what a stranger sends.
import DOMPurify from 'dompurify';
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import lua from 'highlight.js/lib/languages/lua';
import makefile from 'highlight.js/lib/languages/makefile';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { Marked, type Token } from 'marked';

const languages = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  lua,
  makefile,
  markdown,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

const kHighlightLimit = 40_000; // characters: a block is coloured anew each time that it grows

const escaped = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

function highlighted(text: string, language: string): string {
  if (!hljs.getLanguage(language) || text.length > kHighlightLimit) return escaped(text);
  return hljs.highlight(text, { language, ignoreIllegals: true }).value;
}

const marked = new Marked({
  gfm: true,
  renderer: {
    code({ text, lang }) {
      const language = (lang ?? '').match(/^[\w+#.-]*/)![0].toLowerCase();
      const name = escaped(language || 'text');
      return `<div class="code"><div class="code-head"><span>${name}</span><button type="button" class="copy-code">Copy</button></div><pre tabindex="0"><code>${highlighted(text, language)}</code></pre></div>`;
    },
    table(token) {
      const row = (cells: typeof token.header, tag: string) => {
        const inner = cells.map((cell) => {
          const align = cell.align ? ` class="align-${cell.align}"` : '';
          return `<${tag}${align}>${this.parser.parseInline(cell.tokens)}</${tag}>`;
        });
        return `<tr>${inner.join('')}</tr>`;
      };
      const body = token.rows.map((cells) => row(cells, 'td')).join('');
      return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>`;
    },
    // Text between angle brackets is shown, not swallowed: often it is no HTML at all.
    html: ({ text }) => (/^<\/?(br|sub|sup|kbd)\s*\/?>$/i.test(text.trim()) ? text : escaped(text)),
    // A picture from elsewhere would tell its server what was said here; its address is shown instead.
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
});

const sanitizer = DOMPurify();
sanitizer.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
});
const kAllowed = {
  ALLOWED_TAGS: [
    'a',
    'blockquote',
    'br',
    'button',
    'code',
    'del',
    'div',
    'em',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'input',
    'kbd',
    'li',
    'ol',
    'p',
    'pre',
    'span',
    'strong',
    'sub',
    'sup',
    'table',
    'tbody',
    'td',
    'th',
    'thead',
    'tr',
    'ul',
  ],
  ALLOWED_ATTR: ['class', 'href', 'type', 'tabindex', 'start', 'checked', 'disabled', 'title'],
  ALLOWED_URI_REGEXP: /^(https?|mailto):/i,
};

/// The blocks of a text. While one grows, those before it stay as they are.
export const blocksOf = (text: string): Token[] => marked.lexer(text).filter((block) => block.type !== 'space');

export const htmlOf = (block: Token): string => sanitizer.sanitize(marked.parser([block]), kAllowed);

export const highlightedCode = (text: string, language: string): string => sanitizer.sanitize(highlighted(text, language), kAllowed);
