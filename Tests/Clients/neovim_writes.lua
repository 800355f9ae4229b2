-- Writes the recipe of markbook averages in Neovim, from an empty buffer, with the keys that a person would press.
--
--   ERRAND=PROGRAM FOLDER=DIR FILE=recipes/averages.yaml nvim --headless --clean -S Tests/Clients/neovim_writes.lua
--
-- One Neovim drives another over its own protocol. `take` types the beginning of a word, asks for completion with
-- <C-x><C-o>, and takes the entry of that name with <C-n> and <C-y>; `type` types what only the author knows: names,
-- texts, numbers and operators. All words of the language, of the service and of the recipe itself are taken. Where an
-- entry isn't offered, the script fails and says what was. In the end the file is saved to FOLDER/FILE, which is in a
-- folder for recipes, and the keys are printed.

local program, folder, file = os.getenv('ERRAND'), os.getenv('FOLDER'), os.getenv('FILE')
local child = vim.fn.jobstart({ 'nvim', '--embed', '--headless', '-u', 'NONE', '-n' }, { rpc = true })
local pressed = {}

local function ask(method, ...) return vim.rpcrequest(child, 'nvim_' .. method, ...) end
local function fail(text)
  io.stderr:write(text .. '\n' .. table.concat(ask('buf_get_lines', 0, 0, -1, false), '\n') .. '\n')
  vim.cmd('cquit 1')
end
local function press(keys)
  table.insert(pressed, keys)
  ask('input', keys)
end
-- Waits until something holds; nothing here depends on how long that takes.
local function await(what, holds)
  if not vim.wait(20000, holds, 2) then fail('waited in vain: ' .. what) end
end
local function line() return ask('get_current_line') end

local function write(text)
  for character in text:gmatch('.') do
    press(character == '<' and '<lt>' or character == '\n' and '<CR>' or character)
  end
end

local function take(beginning, entry)
  write(beginning)
  press('<C-x><C-o>')
  await(entry .. ' to be offered', function() return ask('call_function', 'pumvisible', {}) == 1 end)
  local items = ask('call_function', 'complete_info', { { 'items' } }).items
  local index
  for number, item in ipairs(items) do
    if not index and (item.abbr == entry or item.word == entry) then index = number end
  end
  if not index then
    local names = {}
    for _, item in ipairs(items) do table.insert(names, item.abbr ~= '' and item.abbr or item.word) end
    fail(entry .. ' is not offered, but ' .. table.concat(names, ', '))
  end
  for _ = 1, index do press('<C-n>') end
  await(entry .. ' to be selected', function()
    return ask('call_function', 'complete_info', { { 'selected' } }).selected == index - 1
  end)
  press('<C-y>')
  await('the menu to close', function() return ask('call_function', 'pumvisible', {}) == 0 end)
end

ask('exec_lua', [[
  local program, folder, file = ...
  vim.o.completeopt, vim.o.autoindent = 'menuone,noselect', false
  vim.cmd('cd ' .. vim.fn.fnameescape(folder))
  vim.cmd('edit ' .. vim.fn.fnameescape(file))
  local buffer = vim.api.nvim_get_current_buf()
  local client = vim.lsp.start_client({ name = 'errand', cmd = { program, 'lsp' }, root_dir = folder })
  vim.lsp.buf_attach_client(buffer, client)
  vim.bo.omnifunc = 'v:lua.vim.lsp.omnifunc'
]], { program, folder, file })
await('the server to start', function()
  return ask('exec_lua', 'return #vim.lsp.buf_get_clients() > 0 and vim.lsp.buf_get_clients()[1] ~= nil', {})
end)

press('i')
take('', 'summary') write('Puts the average of each student into one task of a markbook.\n\n')
take('in', 'inputs') write('\n  markbook: { ')
take('', 'type') take('', 'int') write(', ') take('su', 'summary') write('Key of the markbook. }\n  into: { ')
take('ty', 'type') take('s', 'string') write(', ') take('', 'default') write('Average }\n\n')
take('o', 'on') write('\n  - ') take('', 'cron') write('"30 17 * * FRI"\n    ')
take('', 'zone') take('Aus', 'Australia/Sydney') write('\n    ')
take('', 'inputs') write(' { ') take('', 'markbook') write('1207731 }\n\n')
take('st', 'steps') write('\n  - ')
take('', 'id') write('book\n    ') take('', 'uses') take('mark', 'markbook.getMarkbook') write('\n    ')
take('', 'with') write('\n      ') take('', 'markbookKey') take('', '${{ }}') take('', 'inputs.markbook') write(' }}\n\n')
write('  - ') take('', 'let') write('\n      found: ') take('', '${{ }}') take('', 'steps.book') write('.')
take('', 'tasks') write('.') take('', 'filter') write('t, ') take('', 't') write('.') take('', 'name') write(' == ')
take('', 'inputs.into') write(') }}\n')
write('  - ') take('', 'if') take('', 'found') write('.') take('si', 'size') write(' != 1\n    ')
take('', 'fail') write('There must be one task of that name.\n')
write('  - ') take('', 'let') write('\n      target: ') take('', '${{ }}') take('f', 'found') write('[0] }}\n\n')
write('  - ') take('', 'id') write('put\n    ') take('', 'forEach') take('', 'steps.book') write('.')
take('', 'students') write('\n    ') take('', 'as') write('student\n    ') take('', 'steps') write('\n      - ')
take('', 'let') write('\n          marks: ') take('', '${{ }}') take('', 'student') write('.') take('', 'results')
write('.') take('', 'map') write('r, ') take('', 'has') take('', 'r') write('.') take('', 'percent') write(') && ')
take('', 'r') write('.') take('', 'taskKey') write(' != ') take('', 'target') write('.') take('', 'key') write(', ')
take('', 'r') write('.') take('', 'percent') write(') }}\n          average: "') take('', '${{ }}')
take('', 'marks') write('.') take('', 'size') write(" > 0 ? '%.1f'.") take('', 'format') write('[')
take('', 'stats') take('', 'mean') take('', 'marks') write(")]) : '' }}\"\n      - ")
take('', 'id') write('write\n        ') take('', 'if') take('', 'average') write(" != ''\n        ")
take('', 'uses') take('', 'markbook.putStudentResult') write('\n        ') take('', 'with')
for _, field in ipairs({
  { 'markbookKey', { 'inputs.markbook' } }, { 'studentKey', { 'student', 'key' } }, { 'sid', { 'student', 'sid' } },
  { 'taskKey', { 'target', 'key' } }, { 'taskName', { 'target', 'name' } }, { 'result', { 'average' } },
}) do
  write('\n          ') take('', field[1]) take('', '${{ }}') take('', field[2][1])
  if field[2][2] then write('.') take('', field[2][2]) end
  write(' }}')
end
write('\n    ') take('', 'outputs') write('\n      student: ') take('', '${{ }}') take('', 'student') write('.')
take('', 'familyName') write(' }}\n      written: ') take('', '${{ }}') take('', 'has') take('', 'steps') write('.')
take('', 'write') write(') }}\n\n')
take('ou', 'outputs') write('\n  averages: ') take('', '${{ }}') take('', 'steps.put') write(' }}\n  written: ')
take('', '${{ }}') take('', 'steps.put') write('.') take('', 'filter') write('s, ') take('', 's') write('.')
take('', 'written') write(').') take('', 'size') write(' }}\n')
press('<Esc>:write<CR>')
await('the file to be saved', function() return ask('buf_get_option', 0, 'modified') == false end)
io.stdout:write(table.concat(pressed) .. '\n')
vim.cmd('qall!')
