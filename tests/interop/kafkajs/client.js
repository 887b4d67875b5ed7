// The program of the client kafkajs. It has no consume command: this client consumes only as a member of a group.
'use strict'

const zstd = require('@bokuweb/zstd-wasm')
const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')
const snappy = require('kafkajs-snappy')
const lz4 = require('lz4-napi')

const FIRST_TIMESTAMP = 1700000000000
const PATIENCE_MS = 120000
const types = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}
// The client has only gzip of its own. The packages here need no compiler, and write what other clients can read.
CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: encoder => lz4.compressFrame(encoder.buffer),
  decompress: buffer => lz4.decompressFrame(buffer),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(zstd.decompress(buffer)),
})

function kafka(bootstrap, retry = {}) {
  return new Kafka({ clientId: 'interop', brokers: [bootstrap], logLevel: logLevel.NOTHING, retry })
}

function require_(condition, what) {
  if (!condition) throw new Error(what)
}

async function withAdmin(bootstrap, work) {
  const admin = kafka(bootstrap).admin()
  await admin.connect()
  try {
    await work(admin)
  } finally {
    await admin.disconnect()
  }
}

async function admin(bootstrap, topic) {
  await withAdmin(bootstrap, async client => {
    // Records with such old timestamps are kept only without retention.
    const configEntries = [{ name: 'retention.ms', value: '-1' }]
    await client.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1, configEntries }] })
    console.log('create')
    require_((await client.listTopics()).includes(topic), 'not listed')
    console.log('list')
    const described = await client.fetchTopicMetadata({ topics: [topic] })
    require_(described.topics[0].partitions.length === 2, 'number of partitions')
    console.log('describe')
    require_((await config(client, topic))['retention.ms'] === '-1', 'retention.ms')
    console.log('describe-configs')
    // The older AlterConfigs, which sets all of a topic's configuration.
    configEntries.push({ name: 'max.message.bytes', value: '2000000' })
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }]
    await client.alterConfigs({ validateOnly: false, resources })
    require_((await config(client, topic))['max.message.bytes'] === '2000000', 'max.message.bytes')
    console.log('alter-configs')
    await client.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
    console.log('create-partitions')
  })
}

async function config(client, topic) {
  const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic }]
  const described = await client.describeConfigs({ includeSynonyms: false, resources })
  return Object.fromEntries(described.resources[0].configEntries.map(entry => [entry.configName, entry.configValue]))
}

async function deleteTopic(bootstrap, topic) {
  await withAdmin(bootstrap, client => client.deleteTopics({ topics: [topic] }))
}

async function produce(bootstrap, topic, codec, count) {
  await zstd.init()
  const producer = kafka(bootstrap).producer()
  await producer.connect()
  const messages = Array.from({ length: Number(count) }, (_, i) => ({
    partition: 0,
    key: `key ${i}`,
    value: `${codec} ${i}`,
    headers: { number: `${i}` },
    timestamp: `${FIRST_TIMESTAMP + i}`,
  }))
  await producer.send({ topic, messages, acks: -1, compression: types[codec] })
  await producer.disconnect()
}

// The client keeps the order of sends only if each waits for the one before.
async function idempotent(bootstrap, topic, count) {
  const retry = { initialRetryTime: 100, factor: 0, maxRetryTime: 500, retries: PATIENCE_MS / 100 }
  const producer = kafka(bootstrap, retry).producer({ idempotent: true, retry })
  await producer.connect()
  let acknowledged = 0
  while (acknowledged < Number(count)) {
    const messages = Array.from({ length: 100 }, (_, i) => ({ partition: 0, value: `${acknowledged + i}` }))
    await producer.send({ topic, messages, acks: -1 })
    acknowledged += messages.length
    if (acknowledged % 1000 === 0) console.log(`acknowledged ${acknowledged}`)
    // Slow enough for the broker to be killed several times meanwhile.
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  await producer.disconnect()
}

async function group(bootstrap, topic, groupId) {
  const retry = { initialRetryTime: 100, factor: 0, maxRetryTime: 500, retries: PATIENCE_MS / 100 }
  const consumer = kafka(bootstrap, retry).consumer({ groupId, sessionTimeout: 6000, heartbeatInterval: 500, maxWaitTimeInMs: 200, retry })
  let owned = []
  const tell = (what, partitions) => console.log([what, ...partitions.map(each => `${topic}/${each}`)].join(' '))
  const release = () => {
    if (owned.length > 0) tell('revoked', owned)
    owned = []
  }
  consumer.on(consumer.events.REBALANCING, release)
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    release()
    owned = payload.memberAssignment[topic] || []
    tell('assigned', owned)
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommitInterval: 200,
    eachMessage: async ({ partition, message }) => {
      console.log(`record ${topic}/${partition} ${message.offset} ${message.value}`)
    },
  })
  await new Promise(resolve => process.stdin.on('end', resolve).resume())
  await consumer.disconnect()
  // After a broker that was killed, timers of its own would keep this process alive for minutes.
  process.exit(0)
}

const commands = { admin, delete: deleteTopic, produce, idempotent, group }
commands[process.argv[2]](...process.argv.slice(3)).catch(error => {
  console.error(error)
  process.exit(1)
})
