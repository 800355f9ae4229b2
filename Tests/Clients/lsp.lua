-- Edits a recipe in Neovim with `errand lsp`, as a person does:
--   ERRAND=PROGRAM FOLDER=DIR nvim --headless --clean -c 'luafile Tests/Clients/lsp.lua'
-- DIR is a copy of the tree's recipes. It prints what it found, and exits with 1 if something isn't as it should be.

local program, folder = os.getenv('ERRAND'), os.getenv('FOLDER')
local faults = {}

local function expect(condition, message)
  if not condition then table.insert(faults, message) end
end

--- Waits for something to hold; false if it takes too long.
local function wait_for(condition)
  return vim.wait(20000, condition, 5)
end

local function keys(text)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(text, true, false, true), 'xt', false)
end

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, false)
end

--- The line and column, both from 0, where a text begins.
local function find(text)
  for number, line in ipairs(lines()) do
    local column = line:find(text, 1, true)
    if column then return number - 1, column - 1 end
  end
  error('no ' .. text)
end

local function go_to(text, right)
  local line, column = find(text)
  vim.api.nvim_win_set_cursor(0, { line + 1, column + (right or 0) })
end

local function messages()
  local found = {}
  for _, fault in ipairs(vim.diagnostic.get(0)) do table.insert(found, fault.message) end
  return table.concat(found, '\n')
end

local function errors()
  return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })
end

--- Asks the server, and gives its answer.
local function ask(method, parameters)
  local answers = vim.lsp.buf_request_sync(0, method, parameters, 20000) or {}
  for _, answer in pairs(answers) do
    expect(answer.error == nil, method .. ': ' .. vim.inspect(answer.error))
    return answer.result
  end
end

local function edit()
  vim.cmd('edit ' .. folder .. '/recipes/hello.yaml')
  vim.bo.filetype = 'yaml'
  local client = vim.lsp.start_client({ name = 'errand', cmd = { program, 'lsp' }, root_dir = folder })
  expect(client ~= nil, 'the server does not start')
  vim.lsp.buf_attach_client(0, client)
  expect(wait_for(function() return vim.lsp.buf_is_attached(0, client) and vim.lsp.get_client_by_id(client).initialized end),
    'the server does not answer')
  vim.bo.omnifunc = 'v:lua.vim.lsp.omnifunc'
  local before = lines()

  -- Diagnostics come with a fault, and go with it.
  go_to('steps:')
  keys('cwstpes<Esc>')
  expect(wait_for(function() return messages():find("'stpes'", 1, true) ~= nil end), 'no fault is shown')
  local line = find('stpes')
  expect(vim.diagnostic.get(0)[1].lnum == line, 'the fault is shown in line ' .. vim.diagnostic.get(0)[1].lnum)
  local range = { start = { line = line, character = 0 }, ['end'] = { line = line, character = 0 } }
  local actions = ask('textDocument/codeAction', {
    textDocument = vim.lsp.util.make_text_document_params(), range = range, context = { diagnostics = {} },
  }) or {}
  expect(actions[1] ~= nil and actions[1].kind == 'quickfix', 'no fix is offered')
  if actions[1] then
    vim.lsp.util.apply_workspace_edit(actions[1].edit, vim.lsp.get_client_by_id(client).offset_encoding)
  else
    keys('u')
  end
  expect(wait_for(function() return errors() == 0 end), 'the fault is still shown: ' .. messages())
  expect(vim.deep_equal(lines(), before), 'the fix makes ' .. table.concat(lines(), '\n'))

  -- Hover.
  go_to('forEach', 2)
  local hover = ask('textDocument/hover', vim.lsp.util.make_position_params())
  expect(hover and #(hover.contents.value or hover.contents) > 0, 'nothing is shown about forEach')

  -- Completion by the omnifunc: a person types CTRL-X CTRL-O and takes the word.
  go_to('steps.greet', #'steps.')
  keys('dw')
  local line_of_word, column = find('steps.')
  local offered, tries = {}, 0
  local timer = vim.loop.new_timer()
  timer:start(10, 10, vim.schedule_wrap(function()
    tries = tries + 1
    local items = vim.fn.complete_info({ 'items' }).items or {}
    if #items == 0 and tries < 500 then return end
    timer:stop()
    for _, item in ipairs(items) do table.insert(offered, item.abbr ~= '' and item.abbr or item.word) end
    vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<C-y><Esc>', true, false, true), 't', false)
  end))
  vim.api.nvim_win_set_cursor(0, { line_of_word + 1, column + #'steps' })
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('a<C-x><C-o>', true, false, true), 'xt!', false)
  expect(vim.tbl_contains(offered, 'greet'), 'offered after steps.: ' .. table.concat(offered, ', '))
  expect(vim.deep_equal(lines(), before), 'completed, it is ' .. table.concat(lines(), '\n'))
  vim.api.nvim_buf_set_lines(0, 0, -1, false, before)

  -- Renaming a step, and undoing it.
  go_to('steps.greet', #'steps.')
  vim.lsp.buf.rename('welcome')
  expect(wait_for(function() return table.concat(lines(), '\n'):find('steps.welcome', 1, true) ~= nil end), 'nothing is renamed')
  expect(table.concat(lines(), '\n'):find('id: welcome', 1, true) ~= nil, 'the declaration keeps its name')
  expect(wait_for(function() return errors() == 0 end), 'renamed, it has faults: ' .. messages())

  vim.lsp.stop_client(client)
  expect(wait_for(function() return vim.lsp.client_is_stopped(client) end), 'the server does not stop')
end

local succeeded, fault = pcall(edit)
if not succeeded then table.insert(faults, tostring(fault)) end
if #faults > 0 then
  io.stdout:write('FAILED: ' .. table.concat(faults, '\n  ') .. '\n')
  vim.cmd('cquit 1')
end
io.stdout:write('Neovim edits recipes with errand lsp\n')
vim.cmd('qall!')
