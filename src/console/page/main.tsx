import { render } from 'preact';
import './page.css';

const root = document.getElementById('root');
if (root !== null) render(<h1>Gatehouse</h1>, root);
