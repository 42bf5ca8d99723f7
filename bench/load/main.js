// k6: one scenario an area, and `mixed`, whose iterations are of an area by its weight. bench/load/index.ts gives the options.

import http from 'k6/http';
import { bots as botsArea } from './areas/bots.js';
import { chat as chatArea } from './areas/chat.js';
import { compute as computeArea } from './areas/compute.js';
import { documents as documentsArea } from './areas/documents.js';
import { gateway as gatewayArea } from './areas/gateway.js';
import { knowledge as knowledgeArea } from './areas/knowledge.js';
import { portal as portalArea } from './areas/portal.js';
import { search as searchArea } from './areas/search.js';
import { usage as usageArea } from './areas/usage.js';
import { attempt, oneOf } from './lib.js';

export const options = JSON.parse(__ENV.OPTIONS);
if (__ENV.REFUSALS === 'allowed')
  http.setResponseCallback(http.expectedStatuses({ min: 200, max: 399 }, 503));

export const bots = () => attempt(botsArea);
export const chat = () => attempt(chatArea);
export const compute = () => attempt(computeArea);
export const documents = () => attempt(documentsArea);
export const gateway = () => attempt(gatewayArea);
export const knowledge = () => attempt(knowledgeArea);
export const portal = () => attempt(portalArea);
export const search = () => attempt(searchArea);
export const usage = () => attempt(usageArea);

const AREAS = { bots, chat, compute, documents, gateway, knowledge, portal, search, usage };
const weights = Object.entries(JSON.parse(__ENV.WEIGHTS));
export const mixed = () => oneOf(weights.map(([area, weight]) => [weight, AREAS[area]]));

export const handleSummary = (data) => ({ [__ENV.SUMMARY]: JSON.stringify(data) });
