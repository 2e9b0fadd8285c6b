#!/usr/bin/env node
// Old syntax on purpose: this file must be understood by any Node, to say which one is needed.
// biome-ignore-all lint: see above.
// biome-ignore-all assist: see above.
'use strict'

var fs = require('fs')
var path = require('path')
var url = require('url')

var version = process.versions.node.split('.')
var major = Number(version[0])
var minor = Number(version[1])
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    'Belfry needs Node 20.19 or newer; this is ' + major + '.' + minor + '. Install: https://nodejs.org',
  )
  process.exit(2)
}

var root = path.dirname(__dirname)
var main = path.join(root, 'dist', 'main.js')
if (!fs.existsSync(main)) {
  console.error('Not built yet: run npm start (or npm run build) once in ' + root)
  process.exit(1)
}

import(url.pathToFileURL(main).href).catch(function (error) {
  console.error(error)
  process.exit(1)
})
