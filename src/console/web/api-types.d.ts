// Made from the OpenAPI document by `bun run docs:generate`; a test compares.

export interface paths {
    "/admin/api/workspaces/{workspace_id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["documents.content-settings"];
        put: operations["documents.put-content-settings"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/content/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["documents.content-summary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["models.state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/model-usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["models.usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["chat.list-agents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/agents/{agent_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["chat.read-agent"];
        put: operations["chat.put-agent"];
        post?: never;
        delete: operations["chat.delete-agent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/bots/{bot_id}/test-events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["bots.test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/bots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["bots.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/bots/{bot_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["bots.read"];
        put: operations["bots.put"];
        post?: never;
        delete: operations["bots.delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/chat-sessions/{chat_session_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["metrics.list-conversation-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["metrics.list-dead-letters"];
        put?: never;
        post?: never;
        delete: operations["metrics.purge-dead-letters"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/dead-letters/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["metrics.replay-dead-letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.list-workspaces"];
        put?: never;
        post: operations["access.create-workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.list-users"];
        put?: never;
        post: operations["access.create-user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/users/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["access.delete-user"];
        options?: never;
        head?: never;
        patch: operations["access.update-user"];
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.list-keys"];
        put?: never;
        post: operations["access.create-key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["access.revoke-key"];
        options?: never;
        head?: never;
        patch: operations["access.update-key"];
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/keys/{key_id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["access.rotate-key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.read-session"];
        put?: never;
        post: operations["access.open-session"];
        delete: operations["access.close-session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/session/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["access.open-session-by-link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.list-sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["access.revoke-session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/sign-on": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.begin-sign-on"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/sign-on/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.finish-sign-on"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/sign-on/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.end-sign-on"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.list-audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["access.list-service-audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/workspaces/{workspace_id}/trends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["admin.trends"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["admin.status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/api/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["admin.settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/presigned/url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.presign"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/upload/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.documents.confirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/file/{file_id}/download/url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.download"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/metadata/{workspace_id}/{document}/detail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.detail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/metadata/{workspace_id}/{document}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["portal.documents.patch"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/metadata/{workspace_id}/archive/{file_name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.documents.archive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/metadata/{workspace_id}/archive/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.archived"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/metadata/{workspace_id}/un-archive/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.documents.unarchive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/filter/{workspace_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/metadata/{workspace_id}/folders/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.folders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["portal.documents.bin"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/trash": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.trash"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/trash/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["portal.documents.purge"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/restore/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.documents.restore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/empty/trash": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["portal.documents.empty-trash"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/file/{file_id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.content"];
        put: operations["portal.documents.put-content"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/file/{file_id}/passages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.passages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/contents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.contents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/file/{file_id}/content/excerpt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.excerpt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/retrieve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.documents.retrieve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/vector_stores/{workspace_id}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.documents.search-vector-store"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/passages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.export-passages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/{workspace_id}/file/{file_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.documents.history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.models.chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.models.completions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/images/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.models.images"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.models.embeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.models.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/models/{model_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.models.find"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/{workspace_id}/v1/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.models.embed-for-workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/me/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.models.own-usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/chat/messages/create-chat-session/{workspace_id}/{channel}/{channel_plugin}/{channel_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.chat.create-session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/chat/messages/send-message/{workspace_id}/{channel}/{channel_plugin}/{channel_id}/bychannelsession/{channel_session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.chat.send-message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/chat/messages/{workspace_id}/{message_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["portal.chat.edit-message"];
        post?: never;
        delete: operations["portal.chat.delete-message"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/chat/sessions/{workspace_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.chat.list-sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/chat/sessions/{workspace_id}/{chat_session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["portal.chat.delete-session"];
        options?: never;
        head?: never;
        patch: operations["portal.chat.rename-session"];
        trace?: never;
    };
    "/admin/call/api/v1/chat/sessions/{workspace_id}/{chat_session_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.chat.list-messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/chat/sessions/{workspace_id}/{chat_session_id}/agent-messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.chat.add-agent-message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/chat/messages/{workspace_id}/{message_id}/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.chat.give-feedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/chat/messages/{workspace_id}/{message_id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["portal.chat.stop-answer"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.mcp.message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/workspace_metric/{workspace_id}/by_created_at": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.metrics.retrieve"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/workspace_metric/{workspace_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["portal.metrics.ingest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/api/v1/workspace_metric/{workspace_id}/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.metrics.summarise"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/call/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["portal.access.read-me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        DocumentContentSettings: {
            /** @enum {string} */
            reading: "on" | "off";
        };
        ErrorDetail: {
            detail: string;
        };
        HTTPValidationError: {
            detail: components["schemas"]["ValidationError"][];
        };
        ValidationError: {
            type: string;
            loc: (string | number)[];
            msg: string;
            input: unknown;
            ctx?: {
                [key: string]: unknown;
            };
        };
        DocumentContentSummary: {
            documents: {
                pending: number;
                ready: number;
                empty: number;
                unsupported: number;
                failed: number;
            };
            passages: number;
            without_vectors: number;
            waiting_since: string | null;
        };
        ModelsState: {
            /** @enum {string} */
            source: "file" | "upstream" | "built-in";
            file: string | null;
            read_at: string | null;
            mistake: components["schemas"]["ModelsMistake"] | null;
            models: components["schemas"]["CatalogueModel"][];
            targets: components["schemas"]["TargetState"][];
        };
        ModelsMistake: {
            message: string;
            line: number | null;
            /** Format: date-time */
            at: string;
        };
        CatalogueModel: {
            id: string;
            description: string | null;
            owned_by: string;
            endpoints: string[];
            default_of: string[];
            strategy: string;
            targets: {
                target: string;
                weight: number;
            }[];
            fallbacks: string[];
            price: components["schemas"]["ModelPrice"] | null;
            cache_ttl_seconds: number;
        };
        ModelPrice: {
            input_per_million: number;
            output_per_million: number;
            cache_read_per_million?: number;
            cache_write_per_million?: number;
            per_image?: {
                [key: string]: number;
            };
        };
        TargetState: {
            target: string;
            kind: string;
            base_url: string | null;
            circuit: components["schemas"]["TargetCircuit"];
            resting_until: string | null;
            latency_ms: number | null;
            latency_at: string | null;
            running: number;
            waiting: number;
            attempts: components["schemas"]["TargetAttempts"];
            last_failure: components["schemas"]["TargetFailure"] | null;
        };
        TargetCircuit: {
            /** @enum {string} */
            state: "closed" | "open" | "half-open";
            /** Format: date-time */
            since: string;
        };
        TargetAttempts: {
            ok: number;
            refused: number;
            failed: number;
            "timed-out": number;
            left: number;
        };
        TargetFailure: {
            /** Format: date-time */
            at: string;
            kind: string;
            reason: string;
            code: string | null;
            status: number | null;
        };
        ModelUsage: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            group_by: string;
            items: {
                group: string;
                key?: components["schemas"]["UsedKey"] | null;
                requests: number;
                errors: number;
                estimated: number;
                prompt_tokens: number;
                completion_tokens: number;
                total_tokens: number;
                cost: number;
                latency_ms: number | null;
                latency_p50_ms: number | null;
                latency_p95_ms: number | null;
                latency_p99_ms: number | null;
                first_event_ms: number | null;
                first_event_p50_ms: number | null;
                first_event_p95_ms: number | null;
                first_event_p99_ms: number | null;
            }[];
            total: components["schemas"]["ModelUsageSums"];
        };
        UsedKey: {
            name: string;
            prefix: string;
            user_email: string | null;
        };
        ModelUsageSums: {
            requests: number;
            errors: number;
            estimated: number;
            prompt_tokens: number;
            completion_tokens: number;
            total_tokens: number;
            cost: number;
            latency_ms: number | null;
            latency_p50_ms: number | null;
            latency_p95_ms: number | null;
            latency_p99_ms: number | null;
            first_event_ms: number | null;
            first_event_p50_ms: number | null;
            first_event_p95_ms: number | null;
            first_event_p99_ms: number | null;
        };
        AgentPage: {
            items: components["schemas"]["AgentRead"][];
            next_cursor: string | null;
        };
        AgentRead: {
            id: string;
            name: string;
            /** @enum {string} */
            kind: "persona" | "agent" | "bot";
            model: string | null;
            instructions: string;
            temperature: number | null;
            history_messages: number;
            history_tokens: number;
            /** @enum {string} */
            knowledge: "none" | "documents";
            knowledge_only: boolean;
            not_found_text: string | null;
            replies: components["schemas"]["AgentReply"][];
            default: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        AgentReply: {
            match: string;
            reply: string;
        };
        AgentWrite: {
            name: string;
            /** @enum {string} */
            kind: "persona" | "agent" | "bot";
            model?: string | null;
            instructions?: string | null;
            temperature?: number | null;
            history_messages?: number | null;
            history_tokens?: number | null;
            knowledge?: "none" | "documents" | null;
            knowledge_only?: boolean | null;
            not_found_text?: string | null;
            replies?: components["schemas"]["AgentReply"][] | null;
            default?: boolean | null;
        };
        BotTest: {
            text: string;
        };
        BotTested: {
            event: {
                [key: string]: unknown;
            };
            status: number;
            answer: (components["schemas"]["ChatappReply"] | components["schemas"]["ChatappAddOnReply"]) | {
                detail: string;
            };
        };
        ChatappReply: {
            text?: string;
            actionResponse?: {
                type: string;
            };
        };
        ChatappAddOnReply: {
            hostAppDataAction: {
                chatDataAction: {
                    createMessageAction: {
                        message: {
                            text: string;
                        };
                    };
                };
            };
        };
        BotPage: {
            items: components["schemas"]["BotRead"][];
            next_cursor: string | null;
        };
        BotRead: {
            id: string;
            verification: components["schemas"]["BotVerification"];
            agent_id: string | null;
            welcome_text: string | null;
            commands: components["schemas"]["BotCommand"][];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        BotVerification: {
            /** @enum {string} */
            mode: "project_number" | "endpoint_url" | "key";
            audience: string | null;
            jwks: string | {
                keys: {
                    [key: string]: unknown;
                }[];
            } | null;
            /** Format: email */
            service_account_email?: string;
        };
        BotCommand: {
            id: number;
            name: string;
            reply: string | null;
            agent_id: string | null;
        };
        BotPut: {
            verification: components["schemas"]["BotVerificationPut"];
            agent_id?: string | null;
            welcome_text?: string | null;
            commands?: components["schemas"]["BotCommandPut"][] | null;
        };
        BotVerificationPut: {
            /** @enum {string} */
            mode: "project_number" | "endpoint_url" | "key";
            audience?: string | null;
            jwks?: string | {
                keys: {
                    [key: string]: unknown;
                }[];
            } | null;
            service_account_email?: string | null;
        };
        BotCommandPut: {
            id: number;
            name: string;
            reply?: string | null;
            agent_id?: string | null;
        };
        ConversationEventPage: {
            items: components["schemas"]["MetricEvent"][];
            next_cursor: string | null;
        };
        MetricEvent: {
            specversion: string;
            type: string;
            event_id: string;
            time: string;
            source: string;
            subject: string;
            data: {
                [key: string]: unknown;
            };
            /** Format: uuid */
            id: string;
            workspace_id: string;
            created_at: string;
            updated_at: string;
        } & {
            [key: string]: unknown;
        };
        DeadLetterPage: {
            items: components["schemas"]["DeadLetter"][];
            next_cursor: string | null;
        };
        DeadLetter: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            created_at: string;
            reason: string;
            event: {
                event_id: string;
                source: string;
                type: string;
                subject: string;
                time: string;
                data: string;
            };
        };
        DeadLetterSelection: {
            ids?: string[];
        };
        DeadLetterCount: {
            count: number;
        };
        WorkspacePage: {
            items: components["schemas"]["WorkspaceRead"][];
            next_cursor: string | null;
        };
        WorkspaceRead: {
            id: string;
            name: string;
            /** Format: date-time */
            created_at: string;
        };
        WorkspaceCreate: {
            id: string;
            name?: string | null;
        };
        UserPage: {
            items: components["schemas"]["UserRead"][];
            next_cursor: string | null;
        };
        UserRead: {
            /** Format: uuid */
            id: string;
            email: string;
            name: string | null;
            /** Format: date-time */
            created_at: string;
        };
        UserCreate: {
            /** Format: email */
            email: string;
            name?: string | null;
        };
        UserPatch: {
            /** Format: email */
            email?: string;
            name?: string | null;
        };
        KeyPage: {
            items: components["schemas"]["KeyRead"][];
            next_cursor: string | null;
        };
        KeyRead: {
            /** Format: uuid */
            id: string;
            name: string;
            prefix: string;
            scopes: ("documents:read" | "documents:write" | "models" | "chat" | "bots" | "metrics" | "admin" | "operator")[];
            user_email: string;
            limits: components["schemas"]["KeyLimits"];
            disabled: boolean;
            /** Format: date-time */
            created_at: string;
            expires_at: string | null;
            last_used_at: string | null;
        };
        KeyLimits: {
            requests_per_minute?: number | null;
            tokens_per_minute?: number | null;
            budget_per_month?: number | null;
        };
        KeyCreate: {
            name: string;
            scopes: ("documents:read" | "documents:write" | "models" | "chat" | "bots" | "metrics" | "admin" | "operator")[];
            user_email?: string | null;
            expires_at?: string | null;
            limits?: components["schemas"]["KeyLimits"] | null;
        };
        KeyCreated: {
            /** Format: uuid */
            id: string;
            name: string;
            prefix: string;
            scopes: ("documents:read" | "documents:write" | "models" | "chat" | "bots" | "metrics" | "admin" | "operator")[];
            user_email: string;
            limits: components["schemas"]["KeyLimits"];
            disabled: boolean;
            /** Format: date-time */
            created_at: string;
            expires_at: string | null;
            last_used_at: string | null;
            key: string;
        };
        KeyPatch: {
            name?: string;
            disabled?: boolean;
        };
        KeyRotate: {
            /** @default 0 */
            grace_seconds: number;
            expires_at?: string | null;
        };
        SessionCreate: {
            key: string;
        };
        LinkSessionCreate: {
            link: string;
        };
        SessionRead: {
            workspace_id: string;
            /** Format: uuid */
            user_id: string;
            user_email: string;
            /** Format: uuid */
            key_id: string;
            scopes: ("documents:read" | "documents:write" | "models" | "chat" | "bots" | "metrics" | "admin" | "operator")[];
            sign_on_workspaces: string[] | null;
        };
        PortalSessionPage: {
            items: components["schemas"]["PortalSession"][];
            next_cursor: string | null;
        };
        PortalSession: {
            /** Format: uuid */
            id: string;
            user_email: string;
            key_name: string;
            /** @enum {string} */
            provider: "key" | "link" | "oidc";
            user_agent: string | null;
            current: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
        };
        AuditPage: {
            items: components["schemas"]["AuditEntry"][];
            next_cursor: string | null;
        };
        AuditEntry: {
            id: string;
            /** Format: date-time */
            created_at: string;
            action: string;
            actor: string;
            /** @enum {string} */
            via: "key" | "session" | "sign-on" | "command-line" | "service";
            user_id: string | null;
            key_id: string | null;
            address: string | null;
            request_id: string | null;
            object: {
                kind: string;
                id: string | null;
            };
            before: {
                [key: string]: unknown;
            } | null;
            after: {
                [key: string]: unknown;
            } | null;
        };
        Trends: {
            storage: {
                /** Format: date-time */
                at: string;
                documents: number;
                bytes: number;
            }[];
            backlog: {
                /** Format: date-time */
                at: string;
                events: number;
                jobs: number;
            }[];
        };
        Readiness: {
            /** @enum {string} */
            status: "ready" | "degraded" | "unavailable";
            services: {
                [key: string]: {
                    state: string;
                    detail?: string;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        ServiceSettings: {
            versions: {
                [key: string]: string | null;
            };
            settings: components["schemas"]["Setting"][];
        };
        Setting: {
            name: string;
            meaning: string;
            value: string | null;
            default: string;
            is_set: boolean;
            is_secret: boolean;
        };
        UploadDescriptor: {
            url: string;
            fields: {
                key: string;
                StorageAccessKeyId: string;
                policy: string;
                signature: string;
            } & {
                [key: string]: string;
            };
        };
        DocumentMetadataConfirm: {
            temp_key: string;
            folder?: string | null;
            reading?: ("on" | "off") | null;
            document_metadata: components["schemas"]["DocumentMetadataCreate"];
        };
        DocumentMetadataCreate: {
            name: string;
            tags?: string[] | null;
            categories?: string[] | null;
            summary?: string | null;
            slots?: {
                [key: string]: unknown;
            } | null;
            access?: ({
                curators?: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            owner_id?: string | null;
            status?: components["schemas"]["StatusEnum"] | null;
            storage_url?: string | null;
            created_at?: string | null;
            file_size?: number | null;
            file_type?: string | null;
            file_hash?: string | null;
        };
        /** @enum {string} */
        StatusEnum: "public" | "private" | "deleted";
        DocumentMetadataRead: {
            /** Format: uuid */
            id: string;
            owner_id: string;
            name: string;
            storage_url: string;
            /** Format: date-time */
            created_at: string;
            file_size: number | null;
            file_type: string | null;
            tags: string[] | null;
            categories: string[] | null;
            status: components["schemas"]["StatusEnum"];
            file_hash: string | null;
            summary: string | null;
            access: {
                [key: string]: unknown;
            } | null;
            slots: {
                [key: string]: unknown;
            } | null;
        };
        DocumentMetadataPatch: {
            name?: string;
            tags?: string[] | null;
            categories?: string[] | null;
            access?: ({
                curators?: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            slots?: {
                [key: string]: unknown;
            } | null;
            file_hash?: string | null;
            file_size?: number | null;
            summary?: string | null;
            /** @enum {string} */
            status?: "public" | "private" | "deleted";
            /** Format: uuid */
            owner_id?: string;
        };
        ArchiveList: {
            items: components["schemas"]["ArchivedDocument"][];
            count: number;
            next_cursor?: string;
        };
        ArchivedDocument: {
            /** Format: uuid */
            id: string;
            owner_id: string;
            name: string;
            storage_url: string;
            /** Format: date-time */
            created_at: string;
            file_size: number | null;
            file_type: string | null;
            tags: string[] | null;
            categories: string[] | null;
            status: components["schemas"]["StatusEnum"];
            file_hash: string | null;
            summary: string | null;
            access: {
                [key: string]: unknown;
            } | null;
            slots: {
                [key: string]: unknown;
            } | null;
            /** Format: date-time */
            archived_at: string;
        };
        /** Page[DocumentMetadataRead] */
        Page_DocumentMetadataRead_: {
            items: components["schemas"]["DocumentMetadataRead"][];
            total: number;
            page: number | null;
            size: number | null;
            pages: number | null;
        };
        FolderList: {
            items: components["schemas"]["Folder"][];
            next_cursor: string | null;
        };
        Folder: {
            name: string;
            path: string;
            storage_url: string;
        };
        TrashList: {
            items: components["schemas"]["BinnedDocument"][];
            count: number;
            next_cursor?: string;
        };
        BinnedDocument: {
            /** Format: uuid */
            id: string;
            owner_id: string;
            name: string;
            storage_url: string;
            /** Format: date-time */
            created_at: string;
            file_size: number | null;
            file_type: string | null;
            tags: string[] | null;
            categories: string[] | null;
            status: components["schemas"]["StatusEnum"];
            file_hash: string | null;
            summary: string | null;
            access: {
                [key: string]: unknown;
            } | null;
            slots: {
                [key: string]: unknown;
            } | null;
            /** Format: date-time */
            deleted_at: string;
        };
        DocumentContent: {
            /** @enum {string} */
            status: "pending" | "ready" | "empty" | "unsupported" | "failed";
            reason: string | null;
            language: string | null;
            pages: number | null;
            characters: number;
            passages: number;
            /** @enum {string} */
            reading: "on" | "off";
            given: boolean;
        };
        DocumentContentWrite: {
            text?: string | null;
            /**
             * @default text
             * @enum {string}
             */
            format: "text" | "markdown";
            language?: string | null;
            reading?: ("on" | "off") | null;
        };
        PassagePage: {
            items: components["schemas"]["Passage"][];
            next_cursor: string | null;
        };
        Passage: {
            passage: number;
            page: number | null;
            heading: string | null;
            text: string;
            start: number;
            end: number;
        };
        DocumentContentPage: {
            items: components["schemas"]["DocumentContentRow"][];
            next_cursor: string | null;
        };
        DocumentContentRow: {
            /** Format: uuid */
            document_id: string;
            name: string;
            /** @enum {string} */
            status: "pending" | "ready" | "empty" | "unsupported" | "failed";
            reason: string | null;
            language: string | null;
            pages: number | null;
            characters: number;
            passages: number;
            /** @enum {string} */
            reading: "on" | "off";
            given: boolean;
        };
        DocumentExcerpt: {
            document_id: string;
            name: string;
            language: string | null;
            pages: number | null;
            characters: number;
            start: number;
            end: number;
            next_offset: number | null;
            text: string;
        };
        RetrieveRequest: {
            query: string;
            /** @default 10 */
            limit: number;
            /**
             * @default hybrid
             * @enum {string}
             */
            mode: "hybrid" | "words" | "vectors";
            filter?: {
                name?: string | string[];
                owner_id?: string | string[];
                storage_url?: string | string[];
                file_hash?: string | string[];
                file_type?: string | string[];
                status?: string | string[];
                summary?: string | string[];
                access?: string | string[];
                slots?: string | string[];
                tags?: string | string[];
                categories?: string | string[];
                created_at?: string | string[];
                file_size?: string | string[];
                id?: string | string[];
                /**
                 * @default false
                 * @enum {string}
                 */
                archived: "false" | "true" | "any";
            } | null;
            min_score?: number | null;
            /** @default false */
            explain: boolean;
        };
        RetrieveAnswer: {
            passages: components["schemas"]["RetrievedPassage"][];
            engine: string;
        };
        RetrievedPassage: {
            /** Format: uuid */
            document_id: string;
            name: string;
            page: number | null;
            heading: string | null;
            text: string;
            score: number;
            start: number;
            end: number;
            why?: {
                words: string[];
                matches: {
                    start: number;
                    end: number;
                }[];
                words_score: number | null;
                vectors_score: number | null;
            };
        };
        VectorStoreSearchRequest: {
            query: string | string[];
            filters?: unknown;
            /** @default 10 */
            max_num_results: number;
            ranking_options?: {
                /** @enum {string} */
                ranker?: "none" | "auto" | "default-2024-11-15";
                score_threshold?: number;
            } | null;
            /**
             * @default false
             * @constant
             */
            rewrite_query: false;
        };
        VectorStoreSearchResults: {
            /** @constant */
            object: "vector_store.search_results.page";
            search_query: string[];
            data: {
                file_id: string;
                filename: string;
                score: number;
                attributes: {
                    [key: string]: string | number | boolean;
                } | null;
                content: {
                    /** @constant */
                    type: "text";
                    text: string;
                }[];
            }[];
            has_more: boolean;
            next_page: string | null;
        };
        OpenAiError: {
            error: {
                message: string;
                type: string;
                param: string | null;
                code: string | null;
            };
        };
        DocumentHistoryPage: {
            items: components["schemas"]["DocumentHistoryEntry"][];
            next_cursor: string | null;
        };
        DocumentHistoryEntry: {
            id: string;
            /** Format: date-time */
            created_at: string;
            /** @enum {string} */
            action: "upload" | "update" | "archive" | "unarchive" | "bin" | "restore" | "content";
            actor: string | null;
            via: string | null;
            key_id: string | null;
            address: string | null;
            changes: components["schemas"]["DocumentFieldChange"][];
        };
        DocumentFieldChange: {
            field: string;
            before: string | null;
            after: string | null;
        };
        ChatCompletionRequest: {
            model?: string;
            messages: ({
                role: string;
            } & {
                [key: string]: unknown;
            })[];
            stream?: boolean;
        } & {
            [key: string]: unknown;
        };
        ChatCompletion: {
            id?: string;
            object?: string;
            created?: number;
            model?: string;
            usage?: components["schemas"]["CompletionUsage"] | null;
            choices: ({
                index?: number;
                message: components["schemas"]["ChatCompletionMessage"];
                finish_reason?: string | null;
                logprobs?: unknown | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        CompletionUsage: {
            prompt_tokens?: number;
            completion_tokens?: number;
            total_tokens?: number;
        } & {
            [key: string]: unknown;
        };
        ChatCompletionMessage: {
            role?: string;
            content?: string | null;
            refusal?: string | null;
            tool_calls?: {
                [key: string]: unknown;
            }[] | null;
        } & {
            [key: string]: unknown;
        };
        CompletionRequest: {
            model?: string;
            prompt: unknown;
            stream?: boolean;
        } & {
            [key: string]: unknown;
        };
        Completion: {
            id?: string;
            object?: string;
            created?: number;
            model?: string;
            usage?: components["schemas"]["CompletionUsage"] | null;
            choices: ({
                index?: number;
                text: string;
                finish_reason?: string | null;
                logprobs?: unknown | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        ImageRequest: {
            model?: string;
            prompt: string;
        } & {
            [key: string]: unknown;
        };
        ImageList: {
            created?: number;
            data: ({
                url?: string | null;
                b64_json?: string | null;
                revised_prompt?: string | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        EmbeddingRequest: {
            model?: string;
            input: string | unknown[];
            /** @enum {string} */
            encoding_format?: "float" | "base64";
        } & {
            [key: string]: unknown;
        };
        EmbeddingList: {
            object: string;
            model: string;
            data: components["schemas"]["EmbeddingDataOutSchema"][];
            usage: unknown;
        } & {
            [key: string]: unknown;
        };
        EmbeddingDataOutSchema: {
            object: string;
            index: number;
            embedding: number[] | string;
        } & {
            [key: string]: unknown;
        };
        ModelList: {
            object: string;
            data: components["schemas"]["Model"][];
        };
        Model: {
            id: string;
            object: string;
            created: number;
            owned_by: string;
            endpoints: string[];
            description?: string;
        };
        EmbeddingInSchema: {
            input: string[];
            model?: components["schemas"]["ModelEnum"];
            encoding_format?: "float" | "base64" | null;
            dimensions?: number | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * @default local-multilingual-e1
         * @enum {string}
         */
        ModelEnum: "local-multilingual-e1";
        EmbeddingOutSchema: {
            object: string;
            model: components["schemas"]["ModelEnum"];
            data: components["schemas"]["EmbeddingDataOutSchema"][];
            usage: unknown;
        } & {
            [key: string]: unknown;
        };
        CreateChatSessionRequest: {
            /** @default 0 */
            persona_id: number;
            agi_id: string;
            channel_session_id: string;
        };
        ChatSessionCreated: {
            chat_session_id: number;
            channel_session_id: string;
            persona_id: number;
            agi_id: string;
            channel: string;
            channel_plugin: string;
            channel_id: string;
            workspace_id: string;
            created: boolean;
            /** Format: date-time */
            created_at: string;
        };
        SendMessageRequestSchema: {
            message: string;
            channel_user_message_id: string;
            channel_assistant_message_id: string;
        };
        ChatAnswer: {
            chat_session_id: number;
            channel_session_id: string;
            message_id: number;
            user_message_id: number;
            channel_user_message_id: string | null;
            channel_assistant_message_id: string | null;
            answer: string;
            citations: components["schemas"]["Citation"][];
            model: string | null;
            finish_reason: string;
            usage: {
                prompt_tokens: number;
                completion_tokens: number;
                total_tokens: number;
            };
            error_msg: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Citation: {
            number: number | null;
            document_id: string;
            name: string;
            page: number | null;
            heading: string | null;
            quote: string | null;
            score: number;
        };
        ChatMessagePut: {
            message: string;
        };
        ChatSessionPage: {
            items: components["schemas"]["ChatSession"][];
            next_cursor: string | null;
        };
        ChatSession: {
            chat_session_id: number;
            channel_session_id: string;
            persona_id: number;
            agi_id: string;
            channel: string;
            channel_plugin: string;
            channel_id: string;
            title: string | null;
            user: string;
            message_count: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ChatSessionPatch: {
            title: string;
        };
        ChatMessagePage: {
            items: components["schemas"]["ChatMessage"][];
            next_cursor: string | null;
        };
        ChatMessage: {
            message_id: number;
            parent_message_id: number | null;
            /** @enum {string} */
            role: "user" | "assistant" | "agent";
            message: string;
            channel_message_id: string | null;
            agent_id: string | null;
            citations: components["schemas"]["Citation"][];
            feedback: {
                is_positive: boolean;
                feedback_text: string;
            } | null;
            error_msg: string | null;
            /** Format: date-time */
            created_at: string;
        };
        AgentMessageCreate: {
            message: string;
            /** Format: email */
            agent_id: string;
        };
        FeedbackCreate: {
            is_positive: boolean;
            feedback_text?: string | null;
        };
        FeedbackRead: {
            message_id: number;
            is_positive: boolean;
            feedback_text: string;
        };
        McpRequest: {
            /** @constant */
            jsonrpc: "2.0";
            id?: string | number;
            method: string;
            params?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        McpResponse: {
            /** @constant */
            jsonrpc: "2.0";
            id?: (string | number) | null;
            result?: {
                [key: string]: unknown;
            };
            error?: {
                code: number;
                message: string;
                data?: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        MetricPage: {
            items: components["schemas"]["MetricEvent"][];
            total: number | null;
            current_page: string;
            current_page_backwards: string;
            previous_page: string | null;
            next_page: string | null;
        };
        CloudEvent: {
            /** @constant */
            specversion: "1.0";
            id: string;
            source: string;
            type: string;
            subject?: string;
            /** Format: date-time */
            time?: string;
            data?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        IngestedEvents: {
            accepted: number;
            rejected: number;
            results: {
                index: number;
                id: string | null;
                /** @enum {string} */
                status: "accepted" | "rejected";
                error?: string;
                warning?: string;
            }[];
        };
        NothingIngested: {
            detail: components["schemas"]["ValidationError"][];
            accepted?: number;
            rejected?: number;
            results?: {
                index: number;
                id: string | null;
                /** @enum {string} */
                status: "accepted" | "rejected";
                error?: string;
                warning?: string;
            }[];
        };
        MetricSummary: {
            group_by: string;
            items: {
                key: string;
                events: number;
                value: number;
            }[];
            total: {
                events: number;
                value: number;
            };
            next_page: string | null;
        };
        Me: {
            workspace_id: string;
            key: {
                /** Format: uuid */
                id: string;
                name: string;
                prefix: string;
                scopes: ("documents:read" | "documents:write" | "models" | "chat" | "bots" | "metrics" | "admin" | "operator")[];
                /** Format: date-time */
                created_at: string;
                expires_at: string | null;
            };
            user: {
                /** Format: uuid */
                id: string;
                email: string;
                name: string | null;
            } | null;
            limits: {
                requests_per_minute: number | null;
                tokens_per_minute: number | null;
                budget_per_month: number | null;
            };
            remaining: {
                requests_per_minute: {
                    remaining: number;
                    /** Format: date-time */
                    resets_at: string;
                } | null;
                tokens_per_minute: {
                    remaining: number;
                    /** Format: date-time */
                    resets_at: string;
                } | null;
                budget_per_month: {
                    remaining: number;
                    /** Format: date-time */
                    resets_at: string;
                } | null;
            };
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "documents.content-settings": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentContentSettings"];
                };
            };
        };
    };
    "documents.put-content-settings": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentContentSettings"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentContentSettings"];
                };
            };
        };
    };
    "documents.content-summary": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentContentSummary"];
                };
            };
        };
    };
    "models.state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelsState"];
                };
            };
        };
    };
    "models.usage": {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                group_by?: "model" | "target" | "key" | "endpoint" | "outcome" | "hour" | "day" | "person";
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelUsage"];
                };
            };
        };
    };
    "chat.list-agents": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentPage"];
                };
            };
        };
    };
    "chat.read-agent": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentRead"];
                };
            };
        };
    };
    "chat.put-agent": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentWrite"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentRead"];
                };
            };
        };
    };
    "chat.delete-agent": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "bots.test": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                bot_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BotTest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BotTested"];
                };
            };
        };
    };
    "bots.list": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BotPage"];
                };
            };
        };
    };
    "bots.read": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                bot_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BotRead"];
                };
            };
        };
    };
    "bots.put": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                bot_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BotPut"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BotRead"];
                };
            };
        };
    };
    "bots.delete": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                bot_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "metrics.list-conversation-events": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
                chat_session_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationEventPage"];
                };
            };
        };
    };
    "metrics.list-dead-letters": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterPage"];
                };
            };
        };
    };
    "metrics.purge-dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DeadLetterSelection"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterCount"];
                };
            };
        };
    };
    "metrics.replay-dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DeadLetterSelection"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterCount"];
                };
            };
        };
    };
    "access.list-workspaces": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspacePage"];
                };
            };
        };
    };
    "access.create-workspace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkspaceCreate"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceRead"];
                };
            };
        };
    };
    "access.list-users": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
        };
    };
    "access.create-user": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserCreate"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserRead"];
                };
            };
        };
    };
    "access.delete-user": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "access.update-user": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                user_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserRead"];
                };
            };
        };
    };
    "access.list-keys": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyPage"];
                };
            };
        };
    };
    "access.create-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyCreate"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyCreated"];
                };
            };
        };
    };
    "access.revoke-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "access.update-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                key_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyRead"];
                };
            };
        };
    };
    "access.rotate-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["KeyRotate"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyCreated"];
                };
            };
        };
    };
    "access.read-session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionRead"];
                };
            };
        };
    };
    "access.open-session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionCreate"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "access.close-session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "access.open-session-by-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkSessionCreate"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "access.list-sessions": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortalSessionPage"];
                };
            };
        };
    };
    "access.revoke-session": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "access.begin-sign-on": {
        parameters: {
            query?: {
                workspace?: string;
                prompt?: "login";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "access.finish-sign-on": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    "access.end-sign-on": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "access.list-audit": {
        parameters: {
            query?: {
                action?: string;
                actor?: string;
                object?: string;
                since?: string;
                until?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
        };
    };
    "access.list-service-audit": {
        parameters: {
            query?: {
                action?: string;
                actor?: string;
                object?: string;
                since?: string;
                until?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
        };
    };
    "admin.trends": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trends"];
                };
            };
        };
    };
    "admin.status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    "admin.settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceSettings"];
                };
            };
        };
    };
    "portal.documents.presign": {
        parameters: {
            query?: {
                expires_in?: number;
                content_type?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadDescriptor"];
                };
            };
        };
    };
    "portal.documents.confirm": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentMetadataConfirm"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentMetadataRead"];
                };
            };
        };
    };
    "portal.documents.download": {
        parameters: {
            query?: {
                expires_in?: number;
                disposition?: "attachment" | "inline";
            };
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                };
            };
        };
    };
    "portal.documents.detail": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                document: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentMetadataRead"];
                };
            };
        };
    };
    "portal.documents.patch": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                document: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentMetadataPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentMetadataRead"];
                };
            };
        };
    };
    "portal.documents.archive": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                file_name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentMetadataRead"];
                };
            };
        };
    };
    "portal.documents.archived": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveList"];
                };
            };
        };
    };
    "portal.documents.unarchive": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                file: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentMetadataRead"];
                };
            };
        };
    };
    "portal.documents.search": {
        parameters: {
            query?: {
                name?: string[];
                owner_id?: string[];
                storage_url?: string[];
                file_hash?: string[];
                file_type?: string[];
                status?: string[];
                summary?: string[];
                access?: string[];
                slots?: string[];
                tags?: string[];
                categories?: string[];
                created_at?: string[];
                file_size?: string[];
                id?: string[];
                order_by?: string[];
                page?: number;
                size?: number;
                limit?: number;
                offset?: number;
                archived?: "false" | "true" | "any";
                q?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page_DocumentMetadataRead_"];
                };
            };
        };
    };
    "portal.documents.folders": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                parent?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FolderList"];
                };
            };
        };
    };
    "portal.documents.bin": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "portal.documents.trash": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                all?: boolean;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrashList"];
                };
            };
        };
    };
    "portal.documents.purge": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "portal.documents.restore": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentMetadataRead"];
                };
            };
        };
    };
    "portal.documents.empty-trash": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "portal.documents.content": {
        parameters: {
            query?: {
                format?: "text" | "markdown";
            };
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentContent"];
                    "text/plain": string;
                    "text/markdown": string;
                };
            };
        };
    };
    "portal.documents.put-content": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentContentWrite"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentContent"];
                };
            };
        };
    };
    "portal.documents.passages": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PassagePage"];
                };
            };
        };
    };
    "portal.documents.contents": {
        parameters: {
            query?: {
                document_id?: string[];
                status?: "pending" | "ready" | "empty" | "unsupported" | "failed";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentContentPage"];
                };
            };
        };
    };
    "portal.documents.excerpt": {
        parameters: {
            query?: {
                offset?: number;
                page?: number;
                length?: number;
            };
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentExcerpt"];
                };
            };
        };
    };
    "portal.documents.retrieve": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetrieveRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetrieveAnswer"];
                };
            };
        };
    };
    "portal.documents.search-vector-store": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VectorStoreSearchRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VectorStoreSearchResults"];
                };
            };
        };
    };
    "portal.documents.export-passages": {
        parameters: {
            query?: {
                limit?: number;
                include?: "embeddings";
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jsonl": string;
                };
            };
        };
    };
    "portal.documents.history": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentHistoryPage"];
                };
            };
        };
    };
    "portal.models.chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatCompletionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": string | {
                        data?: unknown;
                        event?: string;
                    };
                };
            };
        };
    };
    "portal.models.completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompletionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Completion"];
                    "text/event-stream": string | {
                        data?: unknown;
                        event?: string;
                    };
                };
            };
        };
    };
    "portal.models.images": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImageRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageList"];
                };
            };
        };
    };
    "portal.models.embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmbeddingRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingList"];
                };
            };
        };
    };
    "portal.models.list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
        };
    };
    "portal.models.find": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                model_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
        };
    };
    "portal.models.embed-for-workspace": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmbeddingInSchema"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingOutSchema"];
                };
            };
        };
    };
    "portal.models.own-usage": {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                group_by?: "model" | "day";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelUsage"];
                };
            };
        };
    };
    "portal.chat.create-session": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                channel: string;
                channel_plugin: string;
                channel_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateChatSessionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatSessionCreated"];
                };
            };
        };
    };
    "portal.chat.send-message": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                channel: string;
                channel_plugin: string;
                channel_id: string;
                channel_session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendMessageRequestSchema"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatAnswer"];
                    "text/event-stream": string | {
                        data?: unknown;
                        event?: string;
                    };
                };
            };
        };
    };
    "portal.chat.edit-message": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                message_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatMessagePut"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatAnswer"];
                    "text/event-stream": string | {
                        data?: unknown;
                        event?: string;
                    };
                };
            };
        };
    };
    "portal.chat.delete-message": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                message_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "portal.chat.list-sessions": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                channel?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatSessionPage"];
                };
            };
        };
    };
    "portal.chat.delete-session": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                chat_session_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "portal.chat.rename-session": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                chat_session_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatSessionPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatSession"];
                };
            };
        };
    };
    "portal.chat.list-messages": {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
                chat_session_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMessagePage"];
                };
            };
        };
    };
    "portal.chat.add-agent-message": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                chat_session_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentMessageCreate"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMessage"];
                };
            };
        };
    };
    "portal.chat.give-feedback": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                message_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FeedbackCreate"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeedbackRead"];
                };
            };
        };
    };
    "portal.chat.stop-answer": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspace_id: string;
                message_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "portal.mcp.message": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["McpRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpResponse"];
                    "text/event-stream": string | {
                        data?: unknown;
                        event?: string;
                    };
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "portal.metrics.retrieve": {
        parameters: {
            query?: {
                from_date?: string;
                to_date?: string;
                authorization?: string;
                cursor?: string;
                size?: number;
                include_total?: boolean;
                newest?: boolean;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricPage"];
                };
            };
        };
    };
    "portal.metrics.ingest": {
        parameters: {
            query?: {
                authorization?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/cloudevents+json": components["schemas"]["CloudEvent"];
                "application/cloudevents-batch+json": components["schemas"]["CloudEvent"][];
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IngestedEvents"];
                };
            };
        };
    };
    "portal.metrics.summarise": {
        parameters: {
            query?: {
                from_date?: string;
                to_date?: string;
                authorization?: string;
                time?: "stored" | "event";
                timezone?: string;
                type?: string;
                group_by?: "type" | "month" | "day" | "hour" | "subject" | "source";
                size?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricSummary"];
                };
            };
        };
    };
    "portal.access.read-me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
}
