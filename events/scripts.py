"""The scripts that run inside the store. Each touches the keys of one game only, so one hash slot.

All checks come before the first write; a script is applied whole or not at all. Answers are lists whose
first element says how it went.
"""

from __future__ import annotations

from events.limits import COUNTED_BYTES

LONGEST_LEASE_SECONDS = 3600
"""No setting gives a lease for longer."""

_LAST = """
local function last(stream)
  local tail = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
  if tail[1] == nil then return 0 end
  return tonumber(string.match(tail[1][1], '^(%d+)'))
end
"""

# What stands in a field and is no number, or not in the one spelling that we write, has no value: a script that met it
# would fail at every call, the one that should park the game included.
_NUMBER = """
local function number_in(text)
  if text == '0' or (string.match(text or '', '^[1-9]%d*$') and #text <= 15) then return tonumber(text) end
  return nil
end
"""

# Junk in the place of the fencing token is replaced by the time in milliseconds, which is above all that were granted.
_SOUND_FENCE = (
    _NUMBER
    + """
local function sound_fence(game)
  local fence = redis.call('HGET', game, 'fence')
  if fence and not number_in(fence) then
    redis.call('HSET', game, 'fence', string.format('%d', tonumber(redis.call('TIME')[1]) * 1000))
  end
end
"""
)

_GROW = """
local function grow(game, bytes)
  local known = redis.call('HGET', game, 'bytes') or ''
  if string.match(known, '^%d+$') and #known <= 15 then
    redis.call('HINCRBY', game, 'bytes', string.format('%d', bytes))
  end
end
"""
# How many bytes lie in a game is counted from when somebody first asked on (COUNT).

# noted: "<from which size on> <how many> <number made of them all>", so that a checkpoint that is missing is noticed.
_KEEP = """
local function numbered(number, text)
  for i = 1, #text do number = (number * 1000003 + string.byte(text, i)) % 4294967291 end
  return number
end

local function keep(game, stream, size, note)
  local before = last(stream)
  if size > before then
    local noted = redis.call('HGET', game, 'noted') or string.format('%d 0 0', before)
    local from, count, number = string.match(noted, '^(%d+) (%d+) (%d+)$')
    redis.call('XADD', stream, string.format('%d-0', size), 'note', note)
    if from then
      number = numbered(tonumber(number), string.format('%d %s', size, note))
      redis.call('HSET', game, 'noted', string.format('%s %d %.0f', from, tonumber(count) + 1, number))
    end
    grow(game, #note)
  end
end
"""

_CLOCK = """
local function stamp(seconds, micros)
  local days = math.floor(seconds / 86400)
  local rest = seconds - days * 86400
  local z = days + 719468
  local era = math.floor(z / 146097)
  local of_era = z - era * 146097
  local years = math.floor(
    (of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * years + math.floor(years / 4) - math.floor(years / 100))
  local shifted = math.floor((5 * of_year + 2) / 153)
  local month = shifted < 10 and shifted + 3 or shifted - 9
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%06dZ',
    years + era * 400 + (month <= 2 and 1 or 0), month, of_year - math.floor((153 * shifted + 2) / 5) + 1,
    math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60, micros)
end

local function sortable(at)
  return string.sub(at, 1, 19) .. (string.match(at, '%.(%d+)') or '')
end

local now = redis.call('TIME')
local seconds = tonumber(now[1])

-- The store's clock where no time is stated; never before the submission that came last.
local function time_behind(before, stated)
  local at = stated
  if at == '' then at = stamp(seconds, tonumber(now[2])) end
  local newest = before and string.match(before, '^{"v":%d+,"at":"(%d[^"]*Z)"')
  if newest and sortable(newest) > sortable(at) then return newest end
  return at
end
"""

# What a sender may do is asked of a list of what he has sent, the newest first: "<inbox number> <seconds>", as often as
# it counts. Without the list nothing is known against him.
_QUOTA = (
    _NUMBER + f"local counted = {COUNTED_BYTES}"
    """
local function sent_at(list, index)
  local found = redis.call('LINDEX', list, index - 1)
  if not found then return nil end
  local number, at = string.match(found, '^(%d+) (%d+)$')
  return tonumber(number), tonumber(at)
end

local function beyond(game, list, newest, unruled, hourly, most, spare, size)
  if unruled > 0 then
    local number = sent_at(list, unruled)
    local cursor = number_in(redis.call('HGET', game, 'cursor') or '0') or 0
    if number and number > cursor and number <= newest then return {'unruled', unruled, 5} end
  end
  if hourly > 0 then
    local _, at = sent_at(list, hourly)
    if at and at <= seconds and at > seconds - 3600 then return {'often', hourly, at + 3600 - seconds} end
  end
  if most > 0 then
    local bytes = number_in(redis.call('HGET', game, 'bytes'))
    if not bytes then return {'uncounted'} end
    local own = number_in(redis.call('HGET', game, 'most')) or 0
    if own > 0 and own < most then most = own end
    if bytes + size > most * spare then return {'game-full', most, 3600} end
  end
  return nil
end
"""
)

# KEYS game inbox keys checkpoints sent; ARGV key-field body-hash, the submission before and behind its time with what
# time is stated between them, size-of-checkpoint note (or 0 and nothing), most unruled, most in an hour, most bytes of
# the game, how far beyond, whether the store has no room
SUBMIT = (
    _LAST
    + _GROW
    + _KEEP
    + _CLOCK
    + _QUOTA
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
local first = redis.call('HGET', KEYS[3], ARGV[1])
if first then
  local number, hash = string.match(first, '^(%d+) (%x+)$')
  if hash == ARGV[2] then return {'again', tonumber(number)} end
  return {'conflict', tonumber(number)}
end
if redis.call('HEXISTS', KEYS[1], 'lost') == 1 then return {'held'} end
if ARGV[12] == '1' then return {'full'} end
local tail = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local newest = tail and tonumber(string.match(tail[1], '^(%d+)')) or 0
local size = #ARGV[3] + #ARGV[5] + #ARGV[1] + 128
local unruled, hourly = tonumber(ARGV[8]), tonumber(ARGV[9])
local refused = beyond(KEYS[1], KEYS[5], newest, unruled, hourly, tonumber(ARGV[10]), tonumber(ARGV[11]), size)
if refused then return refused end
local at = time_behind(tail and tail[2][2], ARGV[4])
local number = newest + 1
redis.call('XADD', KEYS[2], string.format('%d-0', number), 'submission', ARGV[3] .. at .. ARGV[5])
redis.call('HSET', KEYS[3], ARGV[1], string.format('%d %s', number, ARGV[2]))
grow(KEYS[1], size)
if unruled > 0 or hourly > 0 then
  for _ = 1, math.ceil(size / counted) do
    redis.call('LPUSH', KEYS[5], string.format('%d %d', number, seconds))
  end
  redis.call('LTRIM', KEYS[5], 0, math.max(unruled, hourly) - 1)
end
keep(KEYS[1], KEYS[4], tonumber(ARGV[6]), ARGV[7])
return {'new', number, at}
"""
)

# KEYS game checkpoints; ARGV size note
KEEP = (
    _LAST
    + _GROW
    + _KEEP
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
keep(KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2])
return {'done'}
"""
)

# KEYS game inbox keys; ARGV key-field body-hash, the submission as above, then fields and values of the game
CREATE = (
    _CLOCK
    + """
if redis.call('EXISTS', KEYS[1]) == 1 then
  local first = redis.call('HGET', KEYS[3], ARGV[1])
  if first == '1 ' .. ARGV[2] then return {'again', 1} end
  return {'exists'}
end
local at = time_behind(nil, ARGV[4])
for i = 6, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], 'created', at, 'bytes', string.format('%d', #ARGV[3] + #ARGV[5] + #ARGV[1] + 128))
redis.call('HSET', KEYS[1], 'noted', '0 0 0')
redis.call('XADD', KEYS[2], '1-0', 'submission', ARGV[3] .. at .. ARGV[5])
redis.call('HSET', KEYS[3], ARGV[1], '1 ' .. ARGV[2])
return {'new', 1, at}
"""
)

# KEYS game; ARGV bytes, counted before
COUNT = (
    _NUMBER
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if number_in(redis.call('HGET', KEYS[1], 'bytes')) then return 0 end
redis.call('HSET', KEYS[1], 'bytes', ARGV[1])
return 1
"""
)

# KEYS game ledger; ARGV token expected-version expected-cursor cursor, then public, sealed, digest of each entry
APPEND = (
    _LAST
    + _GROW
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
local fence = redis.call('HGET', KEYS[1], 'fence') or '0'
if fence ~= ARGV[1] then return {'fenced', tonumber(fence)} end
local version = last(KEYS[2])
local cursor = redis.call('HGET', KEYS[1], 'cursor') or '0'
if version ~= tonumber(ARGV[2]) or cursor ~= ARGV[3] then return {'stale', version} end
local bytes = 0
for i = 5, #ARGV, 3 do
  version = version + 1
  bytes = bytes + #ARGV[i] + #ARGV[i + 1] + 128
  redis.call('XADD', KEYS[2], string.format('%d-0', version),
             'public', ARGV[i], 'sealed', ARGV[i + 1], 'digest', ARGV[i + 2])
end
redis.call('HSET', KEYS[1], 'cursor', ARGV[4], 'unreleased', 1)
redis.call('HDEL', KEYS[1], 'waits')
grow(KEYS[1], bytes)
return {'done', version}
"""
)

# KEYS game lease ledger; ARGV holder milliseconds. A lease that has not the form of one, or would not run out, is none.
ACQUIRE = (
    _LAST + _SOUND_FENCE + f"local longest = {LONGEST_LEASE_SECONDS * 1000}"
    """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
local number, holder
local version, cursor = last(KEYS[3]), redis.call('HGET', KEYS[1], 'cursor') or '0'
local lease, left = redis.pcall('GET', KEYS[2]), redis.call('PTTL', KEYS[2])
if type(lease) == 'string' and left >= 0 and left <= longest then
  number, holder = string.match(lease, '^(%d+) (.*)$')
end
local token = number and number_in(number)
if token then
  if holder ~= ARGV[1] then return {'held'} end
else
  sound_fence(KEYS[1])
  local unreleased = redis.call('HGET', KEYS[1], 'unreleased')
  if unreleased and not number_in(unreleased) then redis.call('HSET', KEYS[1], 'unreleased', '2') end
  token = redis.call('HINCRBY', KEYS[1], 'fence', 1)
  redis.call('HINCRBY', KEYS[1], 'unreleased', 1)
end
redis.call('SET', KEYS[2], string.format('%d %s', token, ARGV[1]), 'PX', tonumber(ARGV[2]))
local stopped = redis.call('HEXISTS', KEYS[1], 'parked') + redis.call('HEXISTS', KEYS[1], 'lost')
local unreleased = (number_in(redis.call('HGET', KEYS[1], 'unreleased')) or 1) - 1
return {'done', token, version, number_in(cursor) or -1, stopped, unreleased}
"""
)

# KEYS lease; ARGV lease milliseconds
RENEW = """
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]))
"""

# KEYS lease game; ARGV lease token, whether it counts as given back. So does one that ran out meanwhile, unless another
# was granted since.
RELEASE = """
if ARGV[3] == '1' and redis.call('HGET', KEYS[2], 'fence') == ARGV[2] then redis.call('HDEL', KEYS[2], 'unreleased') end
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""

# KEYS game; ARGV how many leases count as not given back. Lets a parked game go on, with care.
UNPARK = """
if redis.call('HDEL', KEYS[1], 'parked') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'unreleased', ARGV[1])
return 1
"""

# KEYS game; ARGV reason
STOP = (
    _SOUND_FENCE
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
if redis.call('HSETNX', KEYS[1], 'parked', ARGV[1]) == 0 then return {'again'} end
sound_fence(KEYS[1])
redis.call('HINCRBY', KEYS[1], 'fence', 1)
return {'done'}
"""
)

# KEYS game; ARGV token reason
PARK = """
local fence = redis.call('HGET', KEYS[1], 'fence') or '0'
if fence ~= ARGV[1] then return {'fenced', tonumber(fence)} end
redis.call('HSET', KEYS[1], 'parked', ARGV[2])
return {'done'}
"""

# KEYS game; ARGV token, what it waits for
WAIT = PARK.replace("'parked'", "'waits'")

# KEYS stream; ARGV after most. Of each element its id and of how many fields it is: a client that makes a map of them
# does not see one that is there twice.
SHAPES = """
local found = {}
for _, row in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', tonumber(ARGV[2]))) do
  found[#found + 1] = {row[1], #row[2] / 2}
end
return found
"""

# KEYS game inbox ledger keys checkpoints, then the same five as they were staged; ARGV nothing. A game may be larger
# than one call should be, so its parts are put beside their places first, and are all there at once or not at all.
IMPORT = """
local parts = #KEYS / 2
for i = 1, parts do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    redis.call('DEL', unpack(KEYS, parts + 1))
    return {'exists'}
  end
end
if redis.call('EXISTS', KEYS[parts + 1]) == 0 then return {'gone'} end
for i = 1, parts do
  if redis.call('EXISTS', KEYS[i + parts]) == 1 then
    redis.call('PERSIST', KEYS[i + parts])
    redis.call('RENAME', KEYS[i + parts], KEYS[i])
  end
end
return {'done'}
"""

# KEYS probe; ARGV nothing. Whether scripts can write.
PROBE = """
redis.call('SET', KEYS[1], redis.call('TIME')[1])
return 1
"""

# KEYS game; ARGV what was lost
HOLD = """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'unknown'} end
redis.call('HSET', KEYS[1], 'lost', ARGV[1])
return {'done'}
"""

# KEYS game inbox keys; ARGV key-field body-hash, the submission before and behind its time with what time is stated
# between them. Its number is behind all that was ruled on.
ACCEPT_LOSS = (
    _LAST
    + _NUMBER
    + _GROW
    + _CLOCK
    + """
if redis.call('HEXISTS', KEYS[1], 'lost') == 0 then return {'not-held'} end
local tail = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local at = time_behind(tail and tail[2][2], ARGV[4])
local number = math.max(last(KEYS[2]), number_in(redis.call('HGET', KEYS[1], 'cursor')) or 0) + 1
redis.call('XADD', KEYS[2], string.format('%d-0', number), 'submission', ARGV[3] .. at .. ARGV[5])
redis.call('HSET', KEYS[3], ARGV[1], string.format('%d %s', number, ARGV[2]))
redis.call('HDEL', KEYS[1], 'lost')
grow(KEYS[1], #ARGV[3] + #ARGV[5] + #ARGV[1] + 128)
return {'new', number, at}
"""
)
