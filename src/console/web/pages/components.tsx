// Every component with its states, for those who change them.

import { useState } from 'preact/hooks';
import { CallError } from '../api.ts';
import { Badge, Chips } from '../components/badge.tsx';
import { Button, LinkButton } from '../components/button.tsx';
import { Chart } from '../components/chart.tsx';
import { ConfirmDialog } from '../components/confirm.tsx';
import { Copy } from '../components/copy.tsx';
import { Dialog } from '../components/dialog.tsx';
import { CheckField, SelectField, TextField } from '../components/field.tsx';
import { Empty, ErrorNotice, Loading, Notice } from '../components/notice.tsx';
import { Figures, Page, Section, Tabs } from '../components/page.tsx';
import { Pager, Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { hrefOf } from '../router.ts';

const DAY_MS = 86_400_000;
const TIMES = Array.from({ length: 30 }, (_, at) => Date.UTC(2026, 0, 1) + at * DAY_MS);
const WAVE = TIMES.map((_, at) => Math.round(50 + 40 * Math.sin(at / 3)));
const HOSTILE = `<img src=x onerror=alert(1)> \u202Egnp.exe ${'long'.repeat(30)}`;

export default function Components() {
  const [text, setText] = useState('Manual of the pump');
  const [checked, setChecked] = useState(true);
  const [open, setOpen] = useState<'dialog' | 'confirm'>();
  return (
    <Page
      title="Components"
      about="Each part of the portal with its states."
      actions={<Button look="primary">Primary</Button>}
    >
      <Section title="Buttons">
        <div class="row">
          <Button>Ordinary</Button>
          <Button look="primary">Primary</Button>
          <Button look="danger">Dangerous</Button>
          <Button look="plain">Plain</Button>
          <Button look="plain danger">Plain, dangerous</Button>
          <Button disabled>Disabled</Button>
          <Button busy>Busy</Button>
          <LinkButton href={hrefOf('components')}>Link</LinkButton>
        </div>
      </Section>
      <Section title="Fields">
        <div class="columns">
          <TextField label="Name" hint="What it is for." value={text} onValue={setText} />
          <TextField
            label="E-mail"
            mistake="value is not a valid email address"
            value="ada@"
            onValue={setText}
          />
          <TextField label="Instructions" rows={3} value={text} onValue={setText} />
          <SelectField
            label="Expires"
            value="b"
            onValue={setText}
            choices={[
              { value: 'a', label: 'Never' },
              { value: 'b', label: 'In 30 days' },
            ]}
          />
          <CheckField
            label="documents:read"
            hint="Reads documents."
            checked={checked}
            onChecked={setChecked}
          />
          <CheckField label="Disabled" checked disabled onChecked={setChecked} />
        </div>
      </Section>
      <Section title="States">
        <div class="row">
          <Badge>neutral</Badge>
          <Badge tone="good">ready</Badge>
          <Badge tone="warn">degraded</Badge>
          <Badge tone="bad">down</Badge>
          <Chips words={['documents:read', 'models']} />
          <Time at="2026-01-31T10:00:00Z" />
          <Time at={null} />
        </div>
      </Section>
      <Section title="Messages">
        <Notice title="A message">With a sentence below it.</Notice>
        <Notice tone="good" title="It worked" />
        <Notice tone="warn" title="The key is shown this once" />
        <ErrorNotice
          error={new CallError(503, 'The database is not available at the moment')}
          retry={() => undefined}
        />
        <Empty title="No keys yet">
          <Button look="primary">Create a key</Button>
        </Empty>
        <Loading />
      </Section>
      <Section title="Table">
        <Tabs
          label="Views"
          tabs={[
            { href: hrefOf('components'), label: 'Documents', current: true },
            { href: hrefOf('home'), label: 'Bin', current: false },
          ]}
        />
        <Table
          caption="Rows"
          rows={[1, 2, 3]}
          keyOf={String}
          columns={[
            { title: 'Name', cell: (row) => <span class="name">{row === 2 ? HOSTILE : `Row ${row}`}</span> },
            { title: 'Size', kind: 'number', cell: (row) => row * 1000 },
            { title: '', kind: 'actions', cell: () => <Button look="plain">Open</Button> },
          ]}
        />
        <Pager next="more" cursor="here" />
        <Figures
          figures={[
            { name: 'Requests', value: '1,204' },
            { name: 'Cost', value: '3.20' },
          ]}
        />
      </Section>
      <Section title="Charts">
        <div class="columns">
          <Chart
            title="One line"
            total="1,500"
            times={TIMES}
            series={[{ label: 'Requests', values: WAVE }]}
          />
          <Chart
            title="Two lines"
            times={TIMES}
            series={[
              { label: 'a', values: WAVE },
              { label: 'b', values: WAVE.map((value) => 90 - value) },
            ]}
          />
          <Chart
            title="Nothing"
            total="0"
            times={TIMES}
            series={[{ label: 'a', values: TIMES.map(() => 0) }]}
          />
        </div>
      </Section>
      <Section title="Copy, progress, dialogs">
        <Copy text={'bun run start'} />
        <progress value={40} max={100} aria-label="Progress" />
        <div class="row">
          <Button onClick={() => setOpen('dialog')}>Open a dialog</Button>
          <Button onClick={() => setOpen('confirm')}>Ask first</Button>
        </div>
      </Section>
      {open === 'dialog' ? (
        <Dialog title="A dialog" onClose={() => setOpen(undefined)}>
          Its content.
        </Dialog>
      ) : null}
      {open === 'confirm' ? (
        <ConfirmDialog
          title="Delete it?"
          action="Delete"
          run={async () => undefined}
          onClose={() => setOpen(undefined)}
        >
          This cannot be undone.
        </ConfirmDialog>
      ) : null}
    </Page>
  );
}
