// The component in the place of the text field on the page that edits a file. The page works without it: here its form is
// sent by fetch, so that the text, the cursor and what can be undone stay, and the parts of the answer are put into the
// page by their ids. Nothing is checked here; the agent answers as it does without a script.
'use strict';
(() => {
  const at = (id) => document.getElementById(id);
  const [form, field] = [at('edit'), at('text')];
  if (!form || !field || !window.CodeMirror) return;
  const { Pos, cmpPos } = CodeMirror;
  const place = (text) => Pos(...text.split(',').map(Number));
  const isNew = form.getAttribute('action') === '/edit/new';
  const mostWidgets = 50;

  // A file that was new has an address of its own once it is saved.
  if (location.pathname === '/edit/new' && !isNew) history.replaceState(null, '', form.action);
  // The component has numbers of its own.
  document.querySelector('.numbered')?.remove();

  function say(words) { at('said').textContent = words; }

  // MARK: Asking the agent

  let isLeaving = false;

  // Sends the form as it is, with the text and more values; null if there is no answer.
  async function send(values, text = editor.getValue()) {
    const body = new URLSearchParams(new FormData(form));
    body.set('text', text);
    for (const [name, value] of Object.entries(values)) body.set(name, value);
    const answer = await fetch(form.action, { method: 'POST', body, headers: { 'Errand-Part': 'yes' } }).catch(() => null);
    if (!answer) return fault("The agent doesn't answer. The text is still here.");
    if (answer.status === 401 && values.do !== 'save') return fault('Your login has ended. Save leads to the login, and keeps the text.');
    return answer;
  }

  function fault(words) {
    const count = at('count');
    count.className = 'wrong';
    if (count.textContent !== words) say(count.textContent = words);
    return null;
  }

  function parsed(html) { return new DOMParser().parseFromString(html, 'text/html'); }

  // Puts parts of an answer into the page.
  function replace(page, ids) {
    for (const id of ids) {
      const [next, now] = [page.getElementById(id), at(id)];
      if (next && now) now.replaceWith(document.adoptNode(next));
    }
    document.querySelector('.numbered')?.remove();
    const tab = at('result').dataset.tab;
    for (const button of document.querySelectorAll('.tabs > button')) button.setAttribute('aria-pressed', button.value === tab);
  }

  // MARK: The component

  const editor = CodeMirror.fromTextArea(field, {
    mode: 'yaml', inputStyle: 'contenteditable', screenReaderLabel: at('text-label').textContent, spellcheck: false,
    lineNumbers: true, lineWrapping: true, indentUnit: 2, tabSize: 2, foldGutter: true, undoDepth: 1000,
    gutters: ['CodeMirror-lint-markers', 'CodeMirror-linenumbers', 'CodeMirror-foldgutter'],
    extraKeys: {
      // People leave the text as they came.
      Tab: false, 'Shift-Tab': false, 'Ctrl-]': 'indentMore', 'Ctrl-[': 'indentLess', 'Ctrl-/': 'toggleComment',
      'Shift-Ctrl-[': 'toggleFold', 'Ctrl-Space': () => complete(), 'Ctrl-I': () => explain(editor.getCursor(), true),
      F8: () => go(1), 'Shift-F8': () => go(-1), 'Ctrl-.': fixHere,
      Esc: () => (about ? closeAbout() : CodeMirror.Pass),
    },
  });
  at('text-label').addEventListener('click', () => editor.focus());
  for (const [name, value] of [['role', 'textbox'], ['aria-multiline', 'true'], ['aria-describedby', 'count']]) {
    editor.getInputField().setAttribute(name, value);
  }

  function goTo(position) {
    editor.setCursor(position);
    editor.scrollIntoView(position, 80);
    editor.focus();
  }
  if (form.dataset.line) goTo(Pos(Math.max(0, Number(form.dataset.line) - 1 || 0), 0));

  // MARK: Checking

  let [isChecking, isWanted, timer, version, faults, widgets] = [false, false, 0, 0, [], []];

  // Asks 150 ms after the last key, one after another.
  function checkSoon() {
    clearTimeout(timer);
    timer = setTimeout(() => { if (isChecking) isWanted = true; else editor.performLint(); }, 150);
  }

  async function check(text, update) {
    // The page has what was found in the text that it came with.
    if (version === 0) { update(read(document)); return; }
    const asked = version;
    isChecking = true;
    const answer = await send({ do: 'check' }, text);
    const page = answer?.ok ? parsed(await answer.text()) : null;
    isChecking = false;
    // An answer about an older text is thrown away.
    if (asked === version && page) {
      replace(page, at('result').dataset.tab === 'check' ? ['count', 'result'] : ['count']);
      update(read(page));
    } else if (answer && !answer.ok) {
      fault(`The text can't be checked (${answer.status}). It is still here.`);
    }
    if (isWanted) { isWanted = false; checkSoon(); }
  }

  function read(page) {
    return [...page.querySelectorAll('#result [data-from]')].map((item) => {
      const [from, to] = [place(item.dataset.from), place(item.dataset.to)];
      return {
        // An empty place is shown as a character.
        from, to: cmpPos(from, to) ? to : Pos(to.line, to.ch + 1), severity: item.dataset.severity,
        message: item.querySelector('.finding').textContent, fix: item.querySelector('button[name=fix]')?.value,
      };
    });
  }

  // The messages are under their lines.
  function showFaults(found) {
    faults = [...found].sort((a, b) => cmpPos(a.from, b.from));
    editor.operation(() => {
      for (const widget of widgets) widget.clear();
      widgets = faults.slice(0, mostWidgets).map((fault) => {
        const words = document.createElement('div');
        words.className = fault.severity === 'error' ? 'finding under' : 'finding mild under';
        words.textContent = fault.message;
        return editor.addLineWidget(Math.min(fault.from.line, editor.lastLine()), words, { noHScroll: true });
      });
    });
  }

  function go(by) {
    if (!faults.length) return say('No faults');
    const here = editor.getCursor();
    const next = by > 0 ? faults.find((f) => cmpPos(f.from, here) > 0) ?? faults[0]
      : faults.findLast((f) => cmpPos(f.from, here) < 0) ?? faults[faults.length - 1];
    goTo(next.from);
    say(`Line ${next.from.line + 1}: ${next.message}${next.fix ? '. Ctrl-. fixes it.' : ''}`);
  }

  editor.setOption('lint', { getAnnotations: check, async: true, lintOnChange: false, tooltips: false, onUpdateLinting: showFaults });

  // MARK: Fixes

  function apply(json) {
    const edits = JSON.parse(json).map(([line, ch, endLine, endCh, text]) => ({ from: Pos(line, ch), to: Pos(endLine, endCh), text }));
    // From the end on, so that the places before stay valid.
    edits.sort((a, b) => cmpPos(b.from, a.from));
    editor.operation(() => edits.forEach(({ from, to, text }) => editor.replaceRange(text, from, to, 'fix')));
    if (edits.length) goTo(edits[edits.length - 1].from);
  }

  function fixHere() {
    const line = editor.getCursor().line;
    const fault = faults.find((f) => f.fix && f.from.line <= line && line <= f.to.line);
    if (!fault) return say('No fix for this line');
    apply(fault.fix);
    say('Fixed');
  }

  // MARK: Saved or not

  let clean = at('saved')?.textContent === 'saved' ? editor.changeGeneration(true) : -1;
  const isSaved = () => editor.isClean(clean);

  function showSaved() {
    const mark = at('saved');
    const words = isSaved() ? 'saved' : 'not saved';
    if (!mark || mark.textContent === words) return;
    mark.textContent = words;
    mark.className = isSaved() ? 'status s-succeeded' : 'status s-waiting';
  }

  editor.on('change', () => {
    version += 1;
    showSaved();
    closeAbout();
    checkSoon();
  });
  window.addEventListener('beforeunload', (event) => { if (!isSaved() && !isLeaving) event.preventDefault(); });

  // MARK: Buttons

  let isBusy = false;

  document.addEventListener('submit', async (event) => {
    if (event.target !== form || isLeaving) return;
    const button = event.submitter ?? form.querySelector('button[value=save]');
    // The page of a new file has another address once it is saved.
    if (isNew && button.value === 'save') { isLeaving = true; return; }
    event.preventDefault();
    if (button.name === 'fix') return apply(button.value);
    if (isBusy) return say('The last press is still being answered');
    isBusy = true;
    at('result').setAttribute('aria-busy', 'true');
    if (['plan', 'test'].includes(button.value)) say('Working');
    const generation = editor.changeGeneration(true);
    const isInside = at('result').contains(document.activeElement);
    try {
      const answer = await send({ [button.name]: button.value });
      if (!answer) return;
      if (answer.status === 401) return leave(button);
      const page = parsed(await answer.text());
      // A page that isn't made of parts is a refusal of its own.
      if (!page.getElementById('notices')) return fault(page.querySelector('.notice')?.textContent ?? `The agent refuses (${answer.status}).`);
      replace(page, ['standing', 'notices', 'count', 'result', 'hidden']);
      const edits = page.getElementById('edits')?.dataset.edits;
      if (edits) apply(edits);
      if (answer.ok && (button.value === 'save' || ['over', 'restore'].includes(button.name))) {
        clean = button.name === 'restore' ? editor.changeGeneration(true) : generation;
        const message = at('message');
        if (message) message.value = '';
      }
      // The agent compared the text that was sent.
      showSaved();
      if (page.getElementById('result').dataset.tab === 'check') { version ||= 1; editor.performLint(); }
      const told = document.querySelector('#notices [role], #result [role=alert], #result [role=status]') ?? at('result').querySelector('h2');
      say(told?.textContent ?? '');
      if (isInside && !edits) focusOn(at('result').querySelector('h2'));
      if (!answer.ok) focusOn(document.querySelector('#notices .fault') ?? at('result').querySelector('h2'));
    } finally {
      isBusy = false;
      at('result').removeAttribute('aria-busy');
    }
  });

  function focusOn(element) {
    if (!element) return;
    element.tabIndex = -1;
    element.focus();
  }

  // The login keeps the form.
  function leave(button) {
    isLeaving = true;
    editor.save();
    form.requestSubmit(button);
  }

  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[data-place]');
    if (!link) return;
    event.preventDefault();
    goTo(place(link.dataset.place));
  });
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 's') {
      event.preventDefault();
      form.requestSubmit(form.querySelector('button[value=save]'));
    } else if (event.key === 'Escape') {
      closeAbout();
    }
  });

  // MARK: Completion

  function spot({ line, ch }) { return { line, column: ch }; }

  function render(element, list, item) {
    const detail = document.createElement('span');
    detail.textContent = item.detail;
    element.append(item.displayText, detail);
  }

  function pick(cm, list, item) {
    const start = cm.indexFromPos(item.from);
    cm.replaceRange(item.text, item.from, item.to, 'complete');
    const { selection } = item;
    if (selection) cm.setSelection(cm.posFromIndex(start + selection.from), cm.posFromIndex(start + selection.to));
  }

  async function hints(cm, done) {
    const answer = await send({ do: 'complete', ...spot(cm.getCursor()) });
    if (!answer?.ok) return done(null);
    const { items, signature } = await answer.json();
    const position = ({ line, column }) => Pos(line, column);
    const list = items.map((item) => ({
      displayText: item.label, detail: item.detail, text: item.edit.text, selection: item.selection, render, hint: pick,
      from: position(item.edit.from), to: position(item.edit.to),
    }));
    const form = signature?.forms[signature.active];
    if (!list.length) {
      if (form) showAbout(parsed(''), [form.text, form.summary].filter(Boolean).join('\n\n'), cm.getCursor());
      return done(null);
    }
    const { from, to } = list[0];
    // Nothing is offered for a word that is whole.
    if (list.length === 1 && cm.getRange(from, to) === list[0].text) return done(null);
    const found = { list, from, to };
    CodeMirror.on(found, 'shown', () => document.querySelector('.CodeMirror-hints')?.setAttribute('aria-label', 'Completions'));
    done(found);
  }
  hints.async = true;

  function complete() { editor.showHint({ hint: hints, completeSingle: false }); }

  editor.on('inputRead', (cm, change) => {
    if (change.origin === '+input' && !cm.state.completionActive?.widget && /^[\w.(,]$/.test(change.text.join(' '))) complete();
  });

  // MARK: Words about a name

  let about = null;

  function closeAbout() {
    about?.element.remove();
    about = null;
  }

  // Shows words below a place until the pointer leaves it, or somebody types or presses Escape.
  function showAbout(page, words, position) {
    closeAbout();
    const content = page.querySelector('.words');
    const element = document.createElement('div');
    element.className = 'about-word lines-kept';
    if (content) element.append(...document.adoptNode(content).childNodes); else element.textContent = words;
    document.body.append(element);
    const { left, bottom } = editor.cursorCoords(position, 'page');
    element.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - element.offsetWidth - 4))}px`;
    element.style.top = `${bottom + 4}px`;
    const [from, to] = content?.dataset.from ? [place(content.dataset.from), place(content.dataset.to)] : [position, position];
    about = { element, from, to };
  }

  async function explain(position, isAsked) {
    const answer = await send({ do: 'hover', ...spot(position) });
    const page = answer?.status === 200 ? parsed(await answer.text()) : null;
    if (!page?.querySelector('.words')) return isAsked && say('Nothing is known about this word');
    if (isAsked) say(page.querySelector('.words').textContent);
    showAbout(page, '', position);
  }

  let pointed = 0;
  editor.getWrapperElement().addEventListener('mousemove', (event) => {
    clearTimeout(pointed);
    const position = editor.coordsChar({ left: event.clientX, top: event.clientY }, 'window');
    if (about && (cmpPos(position, about.from) < 0 || cmpPos(position, about.to) > 0)) closeAbout();
    if (about || !event.target.closest('.CodeMirror-line')) return;
    pointed = setTimeout(() => explain(position, false), 500);
  });
  editor.getWrapperElement().addEventListener('mouseleave', () => clearTimeout(pointed));
  editor.on('scroll', closeAbout);
})();
