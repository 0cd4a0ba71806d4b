-- Traces that LuaJIT compiles: numbers, tables, strings, closures, coroutines, errors.
local bit = require('bit')
local x = 1
for i = 1, 3000000 do x = bit.tobit(x * 5 + i) end
local t = {}
for i = 1, 100000 do t[i % 1000 + 1] = (t[i % 1000 + 1] or 0) + i * 0.5 end
local s = 0
for i = 1, #t do s = s + t[i] end
local parts = {}
for i = 1, 20000 do parts[#parts + 1] = ('%d:%s'):format(i, ('ab'):rep(i % 5)) end
local text = table.concat(parts, ',')
local count = select(2, text:gsub('ab', 'c'))
local co = coroutine.wrap(function() for i = 1, 50000 do coroutine.yield(i) end return 0 end)
local c = 0
for i = 1, 50000 do c = c + co() end
local errors = 0
for i = 1, 1000 do if not pcall(function() error('x') end) then errors = errors + 1 end end
for i = 1, 500 do s = s + loadstring('return function(a) local b = 0 for i = 1, 100 do b = b + a * ' .. i .. ' end return b end')()(i) end
print(x, s, #text, count, c, errors)
