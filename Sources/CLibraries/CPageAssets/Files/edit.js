// The component in the place of the text field of the page that edits a file. The form is sent by fetch, so that the
// cursor and what can be undone stay; parts of the answer replace those of the page by their ids. The agent checks.
'use strict';
(() => {
  const at = (id) => document.getElementById(id);
  const form = at('edit');
  if (!form || !window.CodeMirror) return;
  const { Pos, cmpPos } = CodeMirror;
  const place = (text) => Pos(...text.split(',').map(Number));
  const isNew = form.action.endsWith('/edit/new');
  // A file that was new has an address of its own.
  if (!isNew && location.pathname === '/edit/new') history.replaceState(null, '', form.action);
  const say = (words) => { at('said').textContent = words; };

  let [isLeaving, isOut] = [false, false];

  // Sends the form with the text and more values; null without an answer.
  async function send(values, text = editor.getValue()) {
    if (isOut && values.do !== 'save') return null;
    const body = new URLSearchParams(new FormData(form));
    for (const [name, value] of Object.entries({ text, ...values })) body.set(name, value);
    const answer = await fetch(form.action, { method: 'POST', body, headers: { 'Errand-Part': 'yes' } }).catch(() => null);
    if (!answer) return fault("The agent doesn't answer. The text is still here.");
    isOut = answer.status === 401;
    return isOut && values.do !== 'save' ? fault('Your login has ended. Save keeps the text and leads to it.') : answer;
  }

  const ask = (what, { line, ch }) => send({ do: what, line, column: ch });

  function fault(words) {
    at('count').className = 'wrong';
    say(at('count').textContent = words);
    return null;
  }

  const parsed = (html) => new DOMParser().parseFromString(html, 'text/html');

  // Puts parts of an answer into the page, which needs no numbered text besides.
  function replace(page, ids) {
    for (const id of ids) {
      const next = page.getElementById(id);
      if (next) at(id).replaceWith(next);
    }
    document.querySelector('.numbered')?.remove();
    const tab = at('result').dataset.tab;
    for (const button of document.querySelectorAll('.tabs > button')) button.setAttribute('aria-pressed', button.value === tab);
  }

  replace(document, []);

  const editor = CodeMirror.fromTextArea(at('text'), {
    mode: 'yaml', inputStyle: 'contenteditable', screenReaderLabel: at('text-label').textContent,
    lineNumbers: true, lineWrapping: true, indentUnit: 2, tabSize: 2, foldGutter: true,
    gutters: ['CodeMirror-lint-markers', 'CodeMirror-linenumbers', 'CodeMirror-foldgutter'],
    extraKeys: {
      // People leave the text as they came.
      Tab: false, 'Shift-Tab': false, 'Ctrl-]': 'indentMore', 'Ctrl-[': 'indentLess', 'Ctrl-/': 'toggleComment',
      'Shift-Ctrl-[': 'toggleFold', 'Ctrl-Space': () => complete(), 'Ctrl-I': () => explain(editor.getCursor(), true),
      F8: () => go(1), 'Shift-F8': () => go(-1), 'Ctrl-.': fixHere,
      Esc: () => (about ? closeAbout() : CodeMirror.Pass),
    },
  });
  // The fields of the search have no label.
  editor.openDialog = function (...options) {
    const close = CodeMirror.prototype.openDialog.apply(this, options);
    const input = document.querySelector('.CodeMirror-dialog input');
    if (input) input.ariaLabel = document.querySelector('.CodeMirror-search-label').textContent;
    return close;
  };
  at('text-label').addEventListener('click', () => editor.focus());
  const input = editor.getInputField();
  [input.role, input.ariaMultiLine] = ['textbox', 'true'];
  input.setAttribute('aria-describedby', 'count');

  function goTo(position) {
    editor.setCursor(position);
    editor.scrollIntoView(position, 80);
    editor.focus();
  }
  if (form.dataset.line) goTo(Pos(Math.max(0, Number(form.dataset.line) - 1 || 0), 0));

  // How often the text changed, in all and until the check that is shown.
  let [version, shown] = [0, 0];
  let [isChecking, isWanted, timer, faults, widgets] = [false, false, 0, [], []];

  // 150 ms after the last key, and one at a time.
  function checkSoon() {
    clearTimeout(timer);
    timer = setTimeout(() => (isChecking ? isWanted = true : editor.performLint()), 150);
  }

  async function check(text, update) {
    if (version === shown) return update(read(document));
    const asked = version;
    isChecking = true;
    const answer = await send({ do: 'check' }, text);
    const page = answer && parsed(await answer.text());
    isChecking = false;
    // One about an older text is thrown away.
    if (asked === version && page) {
      update(read(page));
      const isShown = at('result').dataset.tab === 'check';
      if (isShown) shown = asked;
      replace(page, page.getElementById('notices')?.dataset.refused ? ['notices'] : isShown ? ['count', 'result'] : ['count']);
    }
    if (isWanted) { isWanted = false; checkSoon(); }
  }

  function read(page) {
    return [...page.querySelectorAll('#result [data-from]')].map((item) => {
      const [from, to] = [place(item.dataset.from), place(item.dataset.to)];
      return {
        from, to: cmpPos(from, to) ? to : Pos(to.line, to.ch + 1), severity: item.dataset.severity,
        message: item.querySelector('.finding').textContent, fix: item.querySelector('button[name=fix]')?.value,
      };
    });
  }

  // Messages are under their lines.
  function showFaults(found) {
    faults = [...found].sort((a, b) => cmpPos(a.from, b.from));
    editor.operation(() => {
      for (const widget of widgets) widget.clear();
      widgets = faults.slice(0, 50).map((fault) => {
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
      : faults.findLast((f) => cmpPos(f.from, here) < 0) ?? faults.at(-1);
    goTo(next.from);
    say(`Line ${next.from.line + 1}, ${next.message}${next.fix ? '\nCtrl-. fixes it.' : ''}`);
  }

  editor.setOption('lint', { getAnnotations: check, async: true, lintOnChange: false, tooltips: false, onUpdateLinting: showFaults });

  function apply(json) {
    const edits = JSON.parse(json).map(([line, ch, endLine, endCh, text]) => [text, Pos(line, ch), Pos(endLine, endCh), 'fix']);
    // From the end on, so that places stay valid.
    edits.sort((a, b) => cmpPos(b[1], a[1]));
    editor.operation(() => edits.forEach((edit) => editor.replaceRange(...edit)));
    if (edits.length) goTo(edits.at(-1)[1]);
  }

  function fixHere() {
    const { line } = editor.getCursor();
    const fault = faults.find((f) => f.fix && f.from.line <= line && line <= f.to.line);
    if (!fault) return say('No fix for this line');
    apply(fault.fix);
    say('Fixed');
  }

  let clean = at('saved').textContent === 'saved' ? editor.changeGeneration(true) : -1;
  const isSaved = () => editor.isClean(clean);

  function showSaved() {
    const mark = at('saved');
    mark.textContent = isSaved() ? 'saved' : 'not saved';
    mark.className = `status s-${isSaved() ? 'succeeded' : 'waiting'}`;
  }

  editor.on('change', () => {
    version += 1;
    showSaved();
    closeAbout();
    checkSoon();
  });
  window.addEventListener('beforeunload', (event) => { if (!isSaved() && !isLeaving && (version || !isNew)) event.preventDefault(); });

  let isBusy = false;

  document.addEventListener('submit', async (event) => {
    if (event.target !== form || isLeaving) return;
    const button = event.submitter;
    // A saved file has a page of its own.
    if (isNew && button.value === 'save') return isLeaving = true;
    event.preventDefault();
    if (button.name === 'fix') return apply(button.value);
    if (isBusy) return say('Still working');
    isBusy = true;
    at('result').setAttribute('aria-busy', 'true');
    say('Working');
    const [generation, asked] = [editor.changeGeneration(true), version];
    const isInside = at('result').contains(document.activeElement);
    try {
      const answer = await send({ [button.name]: button.value });
      if (!answer) return;
      if (isOut) {
        // The login keeps the form.
        isLeaving = true;
        editor.save();
        return form.requestSubmit(button);
      }
      const page = parsed(await answer.text());
      if (!page.getElementById('notices')) return fault(page.querySelector('.notice')?.textContent ?? 'The agent refuses.');
      replace(page, ['standing', 'notices', 'count', 'result', 'hidden']);
      const edits = page.getElementById('edits')?.dataset.edits;
      if (edits && asked === version) apply(edits);
      const isCurrent = asked === version;
      const isDone = !at('notices').dataset.refused;
      if (isDone && (button.value === 'save' || ['over', 'restore'].includes(button.name))) {
        clean = button.name !== 'restore' ? generation : isCurrent ? editor.changeGeneration(true) : -1;
        if (at('message')) at('message').value = '';
      }
      showSaved();
      const isCheck = at('result').dataset.tab === 'check';
      if (isCheck && isCurrent) { shown = version; editor.performLint(); }
      const heading = at('result').querySelector('h2');
      say((document.querySelector('#notices [role], #result [role=alert], #result [role=status]') ?? (isCheck ? at('count') : heading)).textContent);
      // Typing isn't interrupted.
      if (!isDone && !editor.hasFocus()) focusOn(document.querySelector('#notices .fault') ?? heading);
      else if (isInside && !edits) focusOn(heading);
    } finally {
      isBusy = false;
      at('result').removeAttribute('aria-busy');
    }
  });

  function focusOn(element) {
    element.tabIndex = -1;
    element.focus();
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

  function render(element, list, item) {
    element.append(item.displayText, document.createElement('span'));
    element.lastChild.append(item.detail);
  }

  function pick(cm, list, { text, from, to, selection }) {
    cm.replaceRange(text, from, to, 'complete');
    const spot = (index) => cm.posFromIndex(cm.indexFromPos(from) + index);
    if (selection) cm.setSelection(spot(selection.from), spot(selection.to));
  }

  async function hints(cm, done) {
    const cursor = cm.getCursor();
    const answer = await ask('complete', cursor);
    if (answer?.status !== 200 || cmpPos(cursor, cm.getCursor())) return done(null);
    const { items, signature } = await answer.json();
    const list = items.map(({ label, detail, selection, edit: { from, to, text } }) => ({
      displayText: label, detail, text, selection, render, hint: pick, from: Pos(from.line, from.column), to: Pos(to.line, to.column),
    })).filter(({ displayText, from }) => displayText.toLowerCase().includes(cm.getRange(from, cursor).toLowerCase()));
    const form = signature?.forms[signature.active];
    if (!list.length) {
      if (form) showAbout(null, `${form.text}\n${form.summary}`, cursor);
      return done(null);
    }
    const { from, to } = list[0];
    if (list.length === 1 && cm.getRange(from, to) === list[0].text) return done(null);
    const found = { list, from, to };
    CodeMirror.on(found, 'shown', () => { document.querySelector('.CodeMirror-hints').ariaLabel = 'Completions'; });
    done(found);
  }
  hints.async = true;

  // The list is made anew after each key: while it is made, Enter begins a line.
  const complete = () => editor.showHint({ hint: hints, completeSingle: false, updateOnCursorActivity: false });
  editor.on('cursorActivity', (cm) => { if (cm.state.completionActive?.widget) cm.closeHint(); });

  editor.on('inputRead', (cm, change) => {
    if (change.origin === '+input' && /^[\w.(,]$/.test(change.text.join(' '))) complete();
  });

  let about = null;

  const closeAbout = () => { about = about?.element.remove(); };

  // Shows words until the pointer leaves their place, the text changes, or Escape is pressed.
  function showAbout(content, words, position) {
    closeAbout();
    const element = document.createElement('div');
    element.className = 'about-word lines-kept';
    element.append(...(content?.childNodes ?? [words]));
    document.body.append(element);
    const { left, bottom } = editor.cursorCoords(position, 'page');
    element.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - element.offsetWidth - 4))}px`;
    element.style.top = `${bottom + 4}px`;
    const [from, to] = ['from', 'to'].map((end) => (content?.dataset[end] ? place(content.dataset[end]) : position));
    about = { element, from, to };
  }

  async function explain(position, isAsked) {
    const answer = await ask('hover', position);
    const content = answer?.status === 200 && parsed(await answer.text()).querySelector('.words');
    if (isAsked) say(content ? content.textContent : 'Nothing is known about this word');
    if (content) showAbout(content, '', position);
  }

  let pointed = 0;
  editor.getWrapperElement().addEventListener('mousemove', (event) => {
    clearTimeout(pointed);
    const position = editor.coordsChar({ left: event.clientX, top: event.clientY }, 'window');
    if (about && (cmpPos(position, about.from) < 0 || cmpPos(position, about.to) > 0)) closeAbout();
    if (about || !event.target.closest('.CodeMirror-line')) return;
    pointed = setTimeout(() => explain(position, false), 500);
  });
  document.addEventListener('mouseover', (event) => {
    if (event.target.closest('.CodeMirror, .about-word')) return;
    clearTimeout(pointed);
    closeAbout();
  });
  editor.on('scroll', closeAbout);
})();
