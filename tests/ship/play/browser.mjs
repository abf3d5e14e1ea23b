// browser.mjs - a page in headless Chromium, by the DevTools protocol over a pipe: no package from npm, no port.
//
//     const page = await open('file:///...');
//     await page.look({ width: 360, dark: true })
//     await page.run('document.title')           a value, or what a promise gives; throws what the page throws
//     await page.key('ArrowDown')                to what has the focus; page.key('ArrowDown', true) with Alt
//     page.complaints                            what came to its console, and what was thrown
//     await page.close()
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

function start() {
    const profile = mkdtempSync(join(tmpdir(), 'sampling-play-'));
    const names = process.env.CHROMIUM ? [process.env.CHROMIUM] : ['chromium', 'chromium-headless-shell'];
    const program = names.find((name) => process.env.PATH.split(':').some((folder) => existsSync(join(folder, name)))) ?? names[0];
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-dev-shm-usage', '--remote-debugging-pipe', `--user-data-dir=${profile}`];
    const child = spawn(program, [...flags, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    const gone = new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', resolve);
    });
    return { child, gone, profile };
}

export async function open(url) {
    const { child, gone, profile } = start();
    const calls = new Map(), complaints = [], events = new Map();
    let number = 0, rest = '', session;
    gone.catch(() => {}).then(() => { for (const { reject } of calls.values()) reject(new Error('the browser is gone')); });
    child.stdio[3].on('error', () => {}); // gone: told below
    child.stdio[4].setEncoding('utf8').on('data', (data) => {
        const parts = (rest + data).split('\0');
        rest = parts.pop();
        for (const part of parts) hear(JSON.parse(part));
    });
    function hear({ id, result, error, method, params }) {
        if (id) {
            const call = calls.get(id);
            calls.delete(id);
            if (error) call.reject(new Error(`${call.method}: ${error.message}`));
            else call.resolve(result);
        }
        if (method === 'Runtime.exceptionThrown') complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        if (method === 'Runtime.consoleAPICalled') complaints.push(params.args.map((a) => a.value ?? a.description).join(' '));
        if (method === 'Log.entryAdded') complaints.push(`${params.entry.level}: ${params.entry.text}`);
        events.get(method)?.();
    }
    const call = (method, params = {}) => new Promise((resolve, reject) => {
        calls.set(++number, { resolve, reject, method });
        child.stdio[3].write(`${JSON.stringify({ id: number, method, params, sessionId: session })}\0`);
    });
    async function run(expression) {
        const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true, userGesture: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }
    async function until(expression, what = expression, seconds = 20) {
        for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
            if (await run(expression)) return;
            await new Promise((resolve) => setTimeout(resolve, 30));
        }
        throw new Error(`in vain: ${what}`);
    }
    async function key(name, alt = false) {
        const code = { ArrowUp: 38, ArrowDown: 40, Home: 36, End: 35, Tab: 9, Enter: 13, ' ': 32 }[name];
        const text = { Enter: '\r', ' ': ' ' }[name];
        const both = { key: name, code: name === ' ' ? 'Space' : name, windowsVirtualKeyCode: code, modifiers: Number(alt) };
        await call('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', text, ...both });
        await call('Input.dispatchKeyEvent', { type: 'keyUp', ...both });
    }
    // Its size, and the reader's wishes: nothing that moves.
    async function look({ width = 1280, height = 900, dark = false, scale = 1 } = {}) {
        const features = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }, { name: 'prefers-reduced-motion', value: 'reduce' }];
        await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: scale, mobile: width < 600 });
        await call('Emulation.setEmulatedMedia', { features });
    }
    const mouse = (type, x, y) => call('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1 });
    async function close() {
        await call('Browser.close').catch(() => {});
        await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 3000))]);
        child.kill('SIGKILL');
        rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    }

    try {
        const { targetInfos } = await call('Target.getTargets');
        const { targetId } = targetInfos.find((target) => target.type === 'page');
        ({ sessionId: session } = await call('Target.attachToTarget', { targetId, flatten: true }));
        for (const domain of ['Page', 'Runtime', 'Log']) await call(`${domain}.enable`);
        await look();
        await call('Page.navigate', { url });
    } catch (error) {
        await close();
        throw error;
    }
    return { call, run, until, key, mouse, look, close, complaints };
}
