import { render } from 'preact';
import { App } from './App';
import './style/base.css';
import './style/shell.css';
import './style/chat.css';
import './style/pages.css';

render(<App />, document.getElementById('root')!);
