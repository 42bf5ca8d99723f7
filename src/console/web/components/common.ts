// Components that nearly every page has: they are part of the first file, because together they compress better than apart.

import '../resource.ts';
import './badge.tsx';
import './confirm.tsx';
import './copy.tsx';
import './dialog.tsx';
import './field.tsx';
import './form.tsx';
import './notice.tsx';
import './page.tsx';
import './table.tsx';
import './time.tsx';
