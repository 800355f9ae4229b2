// What pages can do beside forms and links: keys, and keeping what somebody is doing while a part of the page is renewed.
'use strict';
(() => {
  const goals = { n: '/', r: '/runs', a: '/approvals', e: '/recipes', s: '/schedules', t: '/state', h: '/help' };
  const isTyping = (element) => element.matches('input, select, textarea, [contenteditable]');
  let isGoing = 0;

  document.addEventListener('keydown', (event) => {
    // A page that is shown alone leads nowhere.
    if (!document.querySelector('nav.pages')) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const key = event.key;
    if (Date.now() - isGoing < 1500 && goals[key]) location.href = goals[key];
    else if (key === '?') location.href = '/help';
    else if (key === '/') (document.querySelector('main input[type=search]')
      ?? document.querySelector('main input:not([type=hidden])'))?.focus();
    else if (key === 'j' || key === 'k') move(key === 'j' ? 1 : -1);
    else if (key === 'g') { isGoing = Date.now(); return; }
    else return;
    isGoing = 0;
    if (key === '/' || key === 'j' || key === 'k') event.preventDefault();
  });

  // The agent writes times by the clock of the person who reads them.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && !document.cookie.split('; ').includes(`errand_zone=${zone}`)) {
    document.cookie = `errand_zone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax`;
  }

  // How far an instant is from now, in the words of the agent and to the minute.
  function distance(at) {
    const ahead = at - Date.now();
    const minutes = Math.floor(Math.abs(ahead) / 60000);
    const [hours, days] = [Math.floor(minutes / 60), Math.floor(minutes / 1440)];
    const parts = days ? [[days, days === 1 ? 'day' : 'days'], [hours % 24, 'h']] : [[hours, 'h'], [minutes % 60, 'min']];
    const words = parts.filter(([count]) => count).map((part) => part.join(' ')).join(' ');
    if (!words) return ahead > 0 ? 'in less than a minute' : 'just now';
    return ahead > 0 ? `in ${words}` : `${words} ago`;
  }

  // Pages name instants, so that they stay the same while nothing happens.
  function tellDistances() {
    for (const time of document.querySelectorAll('time[data-ago]')) {
      const at = Date.parse(time.dateTime);
      if (Number.isNaN(at)) continue;
      time.dataset.at ??= time.textContent;
      const words = time.dataset.ago === 'beside' ? `${time.dataset.at} (${distance(at)})` : distance(at);
      if (time.textContent !== words) time.textContent = words;
    }
  }
  tellDistances();
  setInterval(tellDistances, 60000);
  document.addEventListener('htmx:afterSwap', tellDistances);

  // A page that is up to date may have a new version all the same, which it names the next time.
  document.addEventListener('htmx:afterRequest', (event) => {
    const { xhr } = event.detail;
    const seen = xhr.status === 204 && xhr.getResponseHeader('Errand-Seen');
    if (seen) document.getElementById('live')?.setAttribute('hx-headers', JSON.stringify({ 'Errand-Seen': seen }));
  });

  // To the next row or the one before.
  function move(by) {
    const links = [...document.querySelectorAll('ul.rows > li .grow > a, table.steps td:first-child a, table.list td:first-child a')];
    const now = links.indexOf(document.activeElement);
    links[Math.min(links.length - 1, Math.max(0, now + by))]?.focus();
  }

  // The rows of a long question are filtered while somebody types.
  let typed = 0;
  document.addEventListener('input', (event) => {
    const form = event.target.form;
    if (form?.id !== 'find') return;
    const mine = ++typed;
    setTimeout(async () => {
      if (mine !== typed) return;
      const answer = await fetch(`${location.pathname}?${new URLSearchParams(new FormData(form))}`).catch(() => null);
      if (!answer?.ok || mine !== typed) return;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const [next, now] = [page, document].map((d) => d.getElementById('rows'));
      if (next && now) now.replaceWith(next);
    }, 150);
  });

  // Nobody looks at a page in the background.
  document.addEventListener('htmx:beforeRequest', (event) => { if (document.hidden) event.preventDefault(); });

  // Says that the page isn't up to date, and why.
  function stale(words) {
    const bar = document.getElementById('stale');
    if (!bar) return;
    bar.hidden = !words;
    if (bar.dataset.words === words) return;
    bar.dataset.words = words;
    bar.textContent = words && `This page isn't up to date: ${words}. `;
    if (!words) return;
    const link = document.createElement('a');
    link.href = location.href;
    link.textContent = 'Load it again';
    bar.append(link);
  }
  document.addEventListener('htmx:sendError', () => stale("the agent doesn't answer"));
  document.addEventListener('htmx:timeout', () => stale("the agent doesn't answer"));
  document.addEventListener('htmx:responseError', (event) =>
    stale(event.detail.xhr.status === 404 ? 'what it shows was deleted' : "the agent refuses to show it"));

  // What has been typed isn't replaced; what is open and has the focus stays so.
  const name = (element) => element.id || element.getAttribute('href') || element.tagName + element.textContent.trim();
  let kept = null;
  document.addEventListener('htmx:beforeSwap', (event) => {
    const live = event.detail.target;
    const fields = [...live.querySelectorAll('input:not([type=hidden]), textarea, select')];
    const isChanged = (field) => field.options ? [...field.options].some((o) => o.selected !== o.defaultSelected)
      : field.value !== field.defaultValue || field.checked !== field.defaultChecked;
    const isFilledIn = event.detail.shouldSwap && fields.some((field) => field === document.activeElement || isChanged(field));
    if (isFilledIn) {
      event.detail.shouldSwap = false;
      const page = new DOMParser().parseFromString(event.detail.serverResponse, 'text/html');
      const [next, now] = [page, document].map((d) => d.getElementById("announcement")?.textContent);
      if (next !== now) return stale(`${next} (this page waits while you fill in a form)`);
    }
    if (event.detail.xhr.status < 400) stale('');
    if (isFilledIn) return;
    // What is selected is about to be copied.
    const selection = getSelection();
    if (selection && !selection.isCollapsed && live.contains(selection.anchorNode)) {
      event.detail.shouldSwap = false;
      return;
    }
    kept = {
      open: [...live.querySelectorAll('details[open] > summary')].map(name),
      focus: live.contains(document.activeElement) ? name(document.activeElement) : null,
      scrolled: [...live.querySelectorAll('pre, .scroll, .log')].map((box) => [
        // What is looked at from its end is followed.
        box.scrollLeft, box.scrollTop > 0 && box.scrollTop + box.clientHeight >= box.scrollHeight - 4 ? 1e9 : box.scrollTop,
      ]),
    };
  });
  document.addEventListener('htmx:afterSwap', () => {
    const live = document.getElementById('live');
    if (!kept || !live) return;
    live.querySelectorAll('details > summary').forEach((s) => { if (kept.open.includes(name(s))) s.parentElement.open = true; });
    live.querySelectorAll('pre, .scroll, .log').forEach((box, i) => { if (kept.scrolled[i]) [box.scrollLeft, box.scrollTop] = kept.scrolled[i]; });
    if (kept.focus) [...live.querySelectorAll('a, button, summary, [tabindex]')].find((e) => name(e) === kept.focus)?.focus({ preventScroll: true });
    kept = null;
  });
  // A change is announced once.
  document.addEventListener('htmx:oobBeforeSwap', (event) => {
    if (event.detail.fragment.textContent === event.detail.target.textContent) event.detail.shouldSwap = false;
  });
})();
