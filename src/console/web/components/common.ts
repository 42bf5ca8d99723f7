// What several pages share: it is part of the first file, because it compresses better together than apart.

import '../content-state.tsx';
import '../csv.ts';
import '../periods.ts';
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
