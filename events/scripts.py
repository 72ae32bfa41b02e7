"""The scripts that run inside the store. Each touches the keys of one game only, so one hash slot.

All checks come before the first write; a script is applied whole or not at all. Answers are lists whose
first element says how it went.
"""

_LAST = """
local function last(stream)
  local tail = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
  if tail[1] == nil then return 0 end
  return tonumber(string.match(tail[1][1], '^(%d+)'))
end
"""

_KEEP = """
local function keep(stream, size, note)
  if size > last(stream) then redis.call('XADD', stream, string.format('%d-0', size), 'note', note) end
end
"""

# KEYS game inbox keys checkpoints; ARGV key-field body-hash submission size-of-checkpoint note, or 0 and nothing
SUBMIT = (
    _LAST
    + _KEEP
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
local first = redis.call('HGET', KEYS[3], ARGV[1])
if first then
  local number, hash = string.match(first, '^(%d+) (%x+)$')
  if hash == ARGV[2] then return {'again', tonumber(number)} end
  return {'conflict', tonumber(number)}
end
local number = last(KEYS[2]) + 1
redis.call('XADD', KEYS[2], string.format('%d-0', number), 'submission', ARGV[3])
redis.call('HSET', KEYS[3], ARGV[1], string.format('%d %s', number, ARGV[2]))
keep(KEYS[4], tonumber(ARGV[4]), ARGV[5])
return {'new', number}
"""
)

# KEYS game checkpoints; ARGV size note
KEEP = (
    _LAST
    + _KEEP
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
keep(KEYS[2], tonumber(ARGV[1]), ARGV[2])
return {'done'}
"""
)

# KEYS game inbox keys; ARGV key-field body-hash submission, then fields and values of the game
CREATE = """
if redis.call('EXISTS', KEYS[1]) == 1 then
  local first = redis.call('HGET', KEYS[3], ARGV[1])
  if first == '1 ' .. ARGV[2] then return {'again', 1} end
  return {'exists'}
end
for i = 4, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('XADD', KEYS[2], '1-0', 'submission', ARGV[3])
redis.call('HSET', KEYS[3], ARGV[1], '1 ' .. ARGV[2])
return {'new', 1}
"""

# KEYS game ledger; ARGV token expected-version expected-cursor cursor, then public, sealed, digest of each entry
APPEND = (
    _LAST
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
local fence = redis.call('HGET', KEYS[1], 'fence') or '0'
if fence ~= ARGV[1] then return {'fenced', tonumber(fence)} end
local version = last(KEYS[2])
local cursor = redis.call('HGET', KEYS[1], 'cursor') or '0'
if version ~= tonumber(ARGV[2]) or cursor ~= ARGV[3] then return {'stale', version} end
for i = 5, #ARGV, 3 do
  version = version + 1
  redis.call('XADD', KEYS[2], string.format('%d-0', version),
             'public', ARGV[i], 'sealed', ARGV[i + 1], 'digest', ARGV[i + 2])
end
redis.call('HSET', KEYS[1], 'cursor', ARGV[4])
return {'done', version}
"""
)

# KEYS game lease ledger; ARGV holder milliseconds
ACQUIRE = (
    _LAST
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
local token
local lease = redis.call('GET', KEYS[2])
if lease then
  local number, holder = string.match(lease, '^(%d+) (.*)$')
  if holder ~= ARGV[1] then return {'held'} end
  token = tonumber(number)
else
  token = redis.call('HINCRBY', KEYS[1], 'fence', 1)
end
redis.call('SET', KEYS[2], string.format('%d %s', token, ARGV[1]), 'PX', tonumber(ARGV[2]))
local cursor = redis.call('HGET', KEYS[1], 'cursor') or '0'
return {'done', token, last(KEYS[3]), tonumber(cursor), redis.call('HGET', KEYS[1], 'parked') or ''}
"""
)

# KEYS lease; ARGV lease milliseconds
RENEW = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]))
"""

# KEYS lease; ARGV lease
RELEASE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""

# KEYS game; ARGV token reason
PARK = """
local fence = redis.call('HGET', KEYS[1], 'fence') or '0'
if fence ~= ARGV[1] then return {'fenced', tonumber(fence)} end
redis.call('HSET', KEYS[1], 'parked', ARGV[2])
return {'done'}
"""

# KEYS game inbox ledger keys checkpoints; ARGV number of game fields, of entries, of submissions, of keys, of
# checkpoints, then all of them
IMPORT = """
if redis.call('EXISTS', KEYS[1]) == 1 then return {'exists'} end
local at = 6
for i = 1, tonumber(ARGV[1]) do
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
  at = at + 2
end
for i = 1, tonumber(ARGV[2]) do
  redis.call('XADD', KEYS[3], string.format('%d-0', i),
             'public', ARGV[at], 'sealed', ARGV[at + 1], 'digest', ARGV[at + 2])
  at = at + 3
end
for i = 1, tonumber(ARGV[3]) do
  redis.call('XADD', KEYS[2], string.format('%d-0', i), 'submission', ARGV[at])
  at = at + 1
end
for i = 1, tonumber(ARGV[4]) do
  redis.call('HSET', KEYS[4], ARGV[at], ARGV[at + 1])
  at = at + 2
end
for i = 1, tonumber(ARGV[5]) do
  redis.call('XADD', KEYS[5], ARGV[at] .. '-0', 'note', ARGV[at + 1])
  at = at + 2
end
return {'done'}
"""
