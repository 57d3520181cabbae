import { render } from 'preact';
import { App } from './shell/app.tsx';

const root = document.getElementById('root');
if (root !== null) render(<App />, root);
